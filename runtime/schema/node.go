package schema

import (
	"bytes"
	"encoding/json"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// node is a compiled schema. The zero value accepts everything. A nil pattern, bound or node, and a length of -1, stand
// for an absent keyword.
type node struct {
	types    types
	nullable bool     // null is accepted in any case
	enum     []any    // as decoded, numbers as json.Number, arrays and objects as compound
	format   format   // of a string
	secret   bool     // values are never shown
	allOf    []*node  // each must hold
	anyOf    []*node  // one must hold
	pattern  *pattern // searched in strings
	bounds   []bound  // of numbers

	minLength, maxLength int // of strings, in code points
	minItems, maxItems   int // of arrays

	items      *node
	properties []property
	additional *node // for keys that are not in properties
	closed     bool  // other keys are refused
	required   uint64

	rare *rare // keywords that the SDK never writes, or nil

	fromFile bool // a streamed input of bytes, which may be the URL of a file; see takesFile

	loose bool // a part of the schema was left out; see document.leaveOut

	hasURI, hasSecret, hasLoose bool // uri, secret or loose, here or below
}

// property is a member that an object's schema names. Required ones come first: bit i of node.required is for
// properties[i].
type property struct {
	name string
	node *node
}

// compound is an array or object of an enum.
type compound struct {
	value any
	form  string // see canonical
}

// MarshalJSON writes the value, for messages.
func (c compound) MarshalJSON() ([]byte, error) { return json.Marshal(c.value) }

func newNode() *node {
	return &node{minLength: -1, maxLength: -1, minItems: -1, maxItems: -1}
}

// clone returns a copy that a keyword compiled into n does not change.
func (n *node) clone() node {
	c := *n
	if n.rare != nil {
		r := *n.rare
		c.rare = &r
	}
	return c
}

// types is a type keyword.
type types struct {
	names []string // as written
	kinds uint16   // a bit for each rawjson.Kind; 0 means any
	whole bool     // numbers must be integers
}

// bound is one of minimum, maximum, exclusiveMinimum and exclusiveMaximum.
type bound struct {
	text      string // as in the schema
	value     decimal
	upper     bool
	exclusive bool
}

// holds reports whether d is within the bound.
func (b *bound) holds(d decimal) bool {
	c := d.compare(b.value)
	if b.upper {
		c = -c
	}
	return c > 0 || c == 0 && !b.exclusive
}

// find returns the property with that key, or nil.
func (n *node) find(key []byte) (int, *node) {
	for i := range n.properties {
		if rawjson.KeyIs(key, n.properties[i].name) {
			return i, n.properties[i].node
		}
	}
	return -1, nil
}

// valid reports whether raw is valid, without a reason and without allocations. true is always right. false may be
// wrong for an object with equal keys, of which only the last counts; explain is exact.
func (n *node) valid(raw []byte) bool {
	if n.rare != nil {
		return n.accepts(raw)
	}
	kind := rawjson.KindOf(raw)
	if kind == rawjson.KindNull && n.nullable {
		return true
	}
	if !n.types.accept(kind, raw) || n.enum != nil && !n.listed(kind, raw) {
		return false
	}
	switch kind {
	case rawjson.KindString:
		if n.format != anyFormat && !n.format.holds(inner(raw)) || !n.validString(inner(raw)) {
			return false
		}
	case rawjson.KindNumber:
		if len(n.bounds) > 0 && !n.validNumber(raw) {
			return false
		}
	case rawjson.KindArray:
		if !n.validArray(raw) {
			return false
		}
	case rawjson.KindObject:
		if !n.validObject(raw) {
			return false
		}
	}
	for _, part := range n.allOf {
		if !part.valid(raw) {
			return false
		}
	}
	for _, branch := range n.anyOf {
		if branch.valid(raw) {
			return true
		}
	}
	return len(n.anyOf) == 0
}

// accept reports whether the type keyword accepts a value.
func (t *types) accept(kind rawjson.Kind, raw []byte) bool {
	if t.kinds == 0 {
		return true
	}
	if t.kinds&(1<<kind) == 0 {
		return false
	}
	return kind != rawjson.KindNumber || !t.whole || isInteger(raw)
}

func isInteger(raw []byte) bool {
	for _, c := range raw {
		if c == '.' || c == 'e' || c == 'E' {
			return parseDecimal(raw).isInteger()
		}
	}
	return true
}

// listed reports whether raw is one of the enum. Numbers are compared by value.
func (n *node) listed(kind rawjson.Kind, raw []byte) bool {
	for _, option := range n.enum {
		switch option := option.(type) {
		case nil:
			if kind == rawjson.KindNull {
				return true
			}
		case bool:
			if kind == rawjson.KindBool && (raw[0] == 't') == option {
				return true
			}
		case string:
			if kind == rawjson.KindString && rawjson.KeyIs(inner(raw), option) {
				return true
			}
		case json.Number:
			if kind == rawjson.KindNumber && parseDecimal(raw).compare(parseDecimal([]byte(option))) == 0 {
				return true
			}
		case compound:
			if (kind == rawjson.KindArray || kind == rawjson.KindObject) && canonical(raw) == option.form {
				return true
			}
		}
	}
	return false
}

func (n *node) validString(text []byte) bool {
	if !n.validLength(text) {
		return false
	}
	if n.pattern != nil {
		ok, err := n.pattern.match(text)
		return ok && err == nil
	}
	return true
}

func (n *node) validLength(text []byte) bool {
	if n.minLength < 0 && (n.maxLength < 0 || len(text) <= n.maxLength) {
		return true // there are never more characters than bytes
	}
	size := length(text)
	return size >= n.minLength && (n.maxLength < 0 || size <= n.maxLength)
}

func (n *node) validNumber(raw []byte) bool {
	d := parseDecimal(raw)
	for i := range n.bounds {
		if !n.bounds[i].holds(d) {
			return false
		}
	}
	return true
}

func (n *node) validArray(raw []byte) bool {
	if n.items == nil && n.minItems < 0 && n.maxItems < 0 {
		return true
	}
	if (n.items == nil || n.items.takesNumbers()) && rawjson.Numbers(raw) && n.fitNumbers(raw) {
		return true
	}
	count := 0
	for r := rawjson.Array(raw); ; count++ {
		item, ok := r.Next()
		if !ok {
			break
		}
		if n.items != nil && !n.items.valid(item) {
			return false
		}
	}
	return count >= n.minItems && (n.maxItems < 0 || count <= n.maxItems)
}

// validNumbers reports whether raw, an array of only numbers, is valid, if n only restricts numbers and lengths.
func (n *node) validNumbers(raw []byte) bool {
	return n.rare == nil && n.enum == nil && len(n.allOf) == 0 && len(n.anyOf) == 0 &&
		n.types.accept(rawjson.KindArray, raw) && n.fitNumbers(raw)
}

// fitNumbers reports whether the items of raw, an array of only numbers, and their count are valid. It is several times
// as fast as a check of each item.
func (n *node) fitNumbers(raw []byte) bool {
	if n.items != nil && (!n.items.takesNumbers() || n.items.types.whole && !rawjson.Whole(raw)) {
		return false
	}
	if n.minItems < 0 && n.maxItems < 0 {
		return true
	}
	count := rawjson.CountNumbers(raw)
	return count >= n.minItems && (n.maxItems < 0 || count <= n.maxItems)
}

// takesNumbers reports whether n accepts every number, or every integer, so that items need no check.
func (n *node) takesNumbers() bool {
	return n.rare == nil && n.enum == nil && len(n.bounds) == 0 && len(n.allOf) == 0 && len(n.anyOf) == 0 &&
		(n.types.kinds == 0 || n.types.kinds&(1<<rawjson.KindNumber) != 0)
}

func (n *node) validObject(raw []byte) bool {
	if len(n.properties) == 0 && n.additional == nil && !n.closed {
		return true
	}
	missing := n.required
	for key, value := range rawjson.Members(raw) {
		i, part := n.find(key)
		switch {
		case i >= 0:
			if i < 64 {
				missing &^= 1 << i
			}
		case n.closed:
			return false
		default:
			part = n.additional
		}
		if part != nil && !part.valid(value) {
			return false
		}
	}
	return missing == 0
}

// jsonText writes a decoded value of the schema for a message.
func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "?"
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// takesTensors reports whether raw has placeholders of tensors, and is valid with what they stand for. The model
// converts an array as it does lists. A NaN is valid if each other number is, for no limit holds for it.
func (n *node) takesTensors(raw []byte) bool {
	switch {
	case !predict.HasTensor(raw):
		return false
	case predict.IsTensor(raw) && n.types.accept(rawjson.KindArray, raw):
		return true
	}
	return n.accepts(predict.WithPlaceholders(raw, predict.Above)) &&
		n.accepts(predict.WithPlaceholders(raw, predict.Below))
}
