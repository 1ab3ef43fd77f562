package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// maxProblems bounds the value problems of an answer: a list may have a million invalid items.
const maxProblems = 100

// report collects problems.
type report struct {
	problems []predict.Problem
	more     bool // there were more than maxProblems
	stop     bool // a further search would cost too much
	secret   bool // the current values must not be shown
	quiet    bool // only find out whether there is a problem
	kinds    bool // messages show kinds, not values
}

// add adds a problem of the value raw; the first %s of format is the value.
func (r *report) add(field string, raw []byte, format string, args ...any) {
	if r.quiet {
		r.stop = true
		return
	}
	shown := secretShown
	switch {
	case r.kinds:
		shown = kindText(raw)
	case !r.secret:
		shown = show(raw)
	}
	if format == msgURL {
		shown = predict.RedactCredentials(shown)
	}
	r.addText(rootOr(field), predict.TypeValue, fmt.Sprintf(format, append([]any{shown}, args...)...))
}

func (r *report) addText(field, kind, msg string) {
	if r.quiet {
		r.stop = true
		return
	}
	if len(r.problems) == maxProblems {
		r.more = true
		return
	}
	r.problems = append(r.problems, problem(field, kind, msg))
}

// full reports whether the search may stop.
func (r *report) full() bool { return r.more || r.stop }

func problem(field, kind, msg string) predict.Problem {
	return predict.Problem{Loc: []string{"body", "input", logtext.Clip(field)}, Msg: msg, Type: kind}
}

const missingText = "Field required"

// The messages, except those of bounds and of rare keywords. The first %s is the value.
const (
	msgType        = "%s is not of type %s"
	msgNotFinite   = "NaN or infinity is not within its limits or choices"
	msgTypes       = "%s is not of types %s"
	msgEnum        = "%s is not one of %s"
	msgURL         = "%s is not an http, https or data URL"
	msgBase64      = "%s is neither base64 nor a data URL"
	msgShort       = "%s is shorter than %s"
	msgLong        = "%s is longer than %s"
	msgPattern     = "%s does not match \"%s\""
	msgPatternSlow = "%s takes too long to match \"%s\""
	msgFew         = "%s has less than %s"
	msgMany        = "%s has more than %s"
	msgAnyOf       = "%s is not valid under any of the schemas listed in the 'anyOf' keyword"
)

// message returns the message of one of the four bounds.
func (b *bound) message() string {
	than, end := "less than", "minimum"
	if b.upper {
		than, end = "greater than", "maximum"
	}
	if b.exclusive {
		than += " or equal to"
	}
	return "%s is " + than + " the " + end + " of %s"
}

// count returns "1 character", "2 characters".
func count(n int, singular, many string) string {
	if n == 1 {
		return "1 " + singular
	}
	return strconv.Itoa(n) + " " + many
}

// explain adds the problems of raw. After a wrong type, enum or URL it stops: more problems would repeat the first. A
// value of a wrong type that is none of the enum has both, in Cog's order.
func (n *node) explain(r *report, field string, raw []byte) {
	kind := rawjson.KindOf(raw)
	switch {
	case r.full(), kind == rawjson.KindNull && n.nullable:
		return
	case n.takesFile(raw):
		return
	case !n.types.accept(kind, raw):
		if n.enum != nil && !n.listed(kind, raw) {
			r.add(field, raw, msgEnum, jsonText(n.enum))
		}
		addType(r, field, raw, n.types.names)
		return
	case n.enum != nil && !n.listed(kind, raw):
		r.add(field, raw, msgEnum, jsonText(n.enum))
		return
	}
	switch kind {
	case rawjson.KindString:
		if n.format != anyFormat && !n.format.holds(inner(raw)) {
			r.add(field, raw, n.format.message())
			return
		}
		n.explainString(r, field, raw)
	case rawjson.KindNumber:
		d := parseDecimal(raw)
		for i := range n.bounds {
			if b := &n.bounds[i]; !b.holds(d) {
				r.add(field, raw, b.message(), b.text)
			}
		}
		if n.rare != nil && n.rare.multipleOf != nil {
			n.rare.explainMultiple(r, field, raw)
		}
	case rawjson.KindArray:
		n.explainArray(r, field, raw)
	case rawjson.KindObject:
		n.explainObject(r, field, raw)
	}
	for _, part := range n.allOf {
		part.explain(r, field, raw)
	}
	if len(n.anyOf) > 0 && !slices.ContainsFunc(n.anyOf, func(branch *node) bool { return branch.accepts(raw) }) {
		r.add(field, raw, msgAnyOf)
	}
	if n.rare != nil && len(n.rare.oneOf) > 0 {
		n.rare.explainOneOf(r, field, raw)
	}
}

// accepts reports exactly whether raw is valid; see valid.
func (n *node) accepts(raw []byte) bool {
	if n.rare == nil && n.valid(raw) {
		return true
	}
	r := report{quiet: true}
	n.explain(&r, "", raw)
	return !r.stop
}

// accepting returns how many of the branches accept raw, at most two.
func accepting(branches []*node, raw []byte) int {
	n := 0
	for _, branch := range branches {
		if branch.accepts(raw) {
			if n++; n == 2 {
				break
			}
		}
	}
	return n
}

func addType(r *report, field string, raw []byte, names []string) {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = `"` + name + `"`
	}
	format := msgType
	if len(names) > 1 {
		format = msgTypes
	}
	r.add(field, raw, format, strings.Join(quoted, ", "))
}

func (n *node) explainString(r *report, field string, raw []byte) {
	text := inner(raw)
	if !n.validLength(text) {
		if length(text) < n.minLength {
			r.add(field, raw, msgShort, count(n.minLength, "character", "characters"))
		}
		if n.maxLength >= 0 && length(text) > n.maxLength {
			r.add(field, raw, msgLong, count(n.maxLength, "character", "characters"))
		}
	}
	if n.pattern == nil {
		return
	}
	switch ok, err := n.pattern.match(text); {
	case err != nil:
		r.add(field, raw, msgPatternSlow, n.pattern.text)
		r.stop = true // a list of such values would take too long
	case !ok:
		r.add(field, raw, msgPattern, n.pattern.text)
	}
}

func (n *node) explainArray(r *report, field string, raw []byte) {
	size := 0
	for i, item := range rawjson.Items(raw) {
		if part := n.item(i); part != nil && !r.full() {
			part.explain(r, below(field, strconv.Itoa(i)), item)
		}
		size++
	}
	if size < n.minItems {
		r.add(field, raw, msgFew, count(n.minItems, "item", "items"))
	}
	if n.maxItems >= 0 && size > n.maxItems {
		r.add(field, raw, msgMany, count(n.maxItems, "item", "items"))
	}
	if n.rare != nil && n.rare.unique {
		n.rare.explainUnique(r, field, raw)
	}
}

// item returns the schema of the item at that index, or nil.
func (n *node) item(at int) *node {
	if n.rare != nil && at < len(n.rare.prefix) {
		return n.rare.prefix[at]
	}
	return n.items
}

// below returns the path of a member of field.
func below(field, member string) string {
	if field == "" {
		return member
	}
	return field + "/" + member
}

// members returns the members of an object in order. Of equal keys the last counts.
func members(raw []byte) (keys []string, values map[string][]byte) {
	values = map[string][]byte{}
	for key, value := range rawjson.Members(raw) {
		name := rawjson.KeyText(key)
		if _, again := values[name]; !again {
			keys = append(keys, name)
		}
		values[name] = value
	}
	return keys, values
}

func (n *node) explainObject(r *report, field string, raw []byte) {
	keys, values := members(raw)
	for i, p := range n.properties {
		if _, ok := values[p.name]; !ok && i < 64 && n.required&(1<<i) != 0 {
			addMissing(r, field, p.name)
		}
	}
	if n.rare != nil {
		n.rare.explainObject(r, field, raw, keys, values)
	}
	var unexpected []string
	for _, key := range keys {
		parts, known := n.member(key)
		if !known && n.closed {
			unexpected = append(unexpected, key)
		}
		for _, part := range parts {
			part.explain(r, below(field, pointer(key)), values[key])
		}
	}
	if len(unexpected) > 0 {
		r.addText(rootOr(field), predict.TypeValue, unexpectedText(unexpected))
	}
}

// member returns the schemas for the member with that key. known: a property or a pattern names it.
func (n *node) member(key string) (parts []*node, known bool) {
	if i := slices.IndexFunc(n.properties, func(p property) bool { return p.name == key }); i >= 0 {
		parts = append(parts, n.properties[i].node)
	}
	if n.rare != nil {
		for _, p := range n.rare.patterns {
			if p.pattern.MatchString(key) {
				parts = append(parts, p.node)
			}
		}
	}
	if len(parts) == 0 && n.additional != nil {
		return []*node{n.additional}, false
	}
	return parts, len(parts) > 0
}

func addMissing(r *report, field, name string) {
	r.addText(below(field, pointer(name)), predict.TypeMissing, missingText)
}

// rootOr returns field, or the name of the whole input.
func rootOr(field string) string {
	if field == "" {
		return rootField
	}
	return field
}

// unexpectedText returns the message for unknown keys of a closed object.
func unexpectedText(keys []string) string {
	slices.Sort(keys)
	were := "was"
	if len(keys) > 1 {
		were = "were"
	}
	names := logtext.ClipRunes("'"+strings.Join(keys, "', '")+"'", maxShown)
	return "Additional properties are not allowed (" + names + " " + were + " unexpected)"
}
