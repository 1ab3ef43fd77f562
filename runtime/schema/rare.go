package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"

	"pinion/runtime/rawjson"
)

// rare has the keywords that the SDK never writes, but pydantic does: the model's document may be from a server that
// used it. A nil pointer, and a size of -1, stand for an absent keyword.
type rare struct {
	multipleOf     *big.Rat
	multipleOfText string // as in the schema

	unique bool
	prefix []*node

	minProperties, maxProperties int
	required                     []string // those without a bit in node.required
	patterns                     []patternProperty
	names                        *node

	oneOf []*node
}

type patternProperty struct {
	pattern *pattern
	node    *node
}

// makeRare returns the rare keywords of n, to fill in.
func (n *node) makeRare() *rare {
	if n.rare == nil {
		n.rare = &rare{minProperties: -1, maxProperties: -1}
	}
	return n.rare
}

// rareKeyword compiles a keyword of rare. By JSON Schema, unknown words are ignored. A known but unsupported keyword is
// an error, so that a warning names it: without it the model may get a value that its schema forbids.
func (d *document) rareKeyword(n *node, keyword string, v any) (err error) {
	switch keyword {
	case "multipleOf":
		err = n.makeRare().compileMultiple(v)
	case "uniqueItems":
		n.makeRare().unique = v == true
	case "prefixItems":
		n.makeRare().prefix, err = d.compileAll(v)
	case "minProperties":
		n.makeRare().minProperties, err = compileSize(v)
	case "maxProperties":
		n.makeRare().maxProperties, err = compileSize(v)
	case "patternProperties":
		n.makeRare().patterns, err = d.compilePatterns(v)
	case "propertyNames":
		n.makeRare().names = d.compile(v)
	case "oneOf":
		n.makeRare().oneOf, err = d.compileAll(v)
	case "not", "if", "then", "else", "contains", "minContains", "maxContains", "dependentRequired", "dependentSchemas",
		"additionalItems", "dependencies", "unevaluatedItems", "unevaluatedProperties", "$dynamicRef", "$recursiveRef":
		err = fmt.Errorf("the keyword is not supported")
	}
	return err
}

func (k *rare) compileMultiple(v any) error {
	number, _ := v.(json.Number)
	value := new(big.Rat)
	if number != "" && !huge([]byte(number)) {
		value.SetString(string(number)) // stays 0 after an error
	}
	if value.Sign() <= 0 {
		return fmt.Errorf("%s is not a number above 0", jsonText(v))
	}
	k.multipleOf, k.multipleOfText = value, string(number)
	return nil
}

func (d *document) compilePatterns(v any) ([]patternProperty, error) {
	named, err := d.compileNamed(v)
	if err != nil {
		return nil, err
	}
	list := make([]patternProperty, len(named))
	for i, p := range named {
		list[i].node = p.node
		if list[i].pattern, err = compilePattern(p.name); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// below returns the schemas that apply to members, items or keys.
func (k *rare) below() []*node {
	list := append([]*node{}, k.prefix...)
	if k.names != nil {
		list = append(list, k.names)
	}
	for _, p := range k.patterns {
		list = append(list, p.node)
	}
	return list
}

// The messages of rare keywords. The first %s is the value.
const (
	msgRange     = "%s is out of range"
	msgMultiple  = "%s is not a multiple of %s"
	msgUnique    = "%s has non-unique elements"
	msgName      = "%s has the key %s, which its schema does not allow"
	msgOneOf     = "%s is not valid under any of the schemas listed in the 'oneOf' keyword"
	msgOneOfMany = "%s is valid under more than one of the schemas listed in the 'oneOf' keyword"
)

func (k *rare) explainMultiple(r *report, field string, raw []byte) {
	if huge(raw) {
		r.add(field, raw, msgRange)
		return
	}
	value, ok := new(big.Rat).SetString(string(raw))
	if !ok || !value.Quo(value, k.multipleOf).IsInt() {
		r.add(field, raw, msgMultiple, k.multipleOfText)
	}
}

func (k *rare) explainUnique(r *report, field string, raw []byte) {
	seen := map[string]bool{}
	for _, item := range rawjson.Items(raw) {
		form := canonical(item)
		if seen[form] {
			r.add(field, raw, msgUnique)
			return
		}
		seen[form] = true
	}
}

func (k *rare) explainObject(r *report, field string, raw []byte, keys []string, values map[string][]byte) {
	if len(keys) < k.minProperties {
		r.add(field, raw, msgFew, count(k.minProperties, "property", "properties"))
	}
	if k.maxProperties >= 0 && len(keys) > k.maxProperties {
		r.add(field, raw, msgMany, count(k.maxProperties, "property", "properties"))
	}
	for _, name := range k.required {
		if _, ok := values[name]; !ok {
			addMissing(r, field, name)
		}
	}
	if k.names == nil {
		return
	}
	for _, key := range keys {
		if quoted := rawjson.AppendQuoted(nil, key); !k.names.accepts(quoted) {
			r.add(field, raw, msgName, show(quoted))
		}
	}
}

func (k *rare) explainOneOf(r *report, field string, raw []byte) {
	switch accepting(k.oneOf, raw) {
	case 0:
		r.add(field, raw, msgOneOf)
	case 2:
		if !slices.ContainsFunc(k.oneOf, func(n *node) bool { return n.hasLoose }) { // a loose branch accepts too much
			r.add(field, raw, msgOneOfMany)
		}
	}
}
