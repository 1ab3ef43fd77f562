package schema

import (
	"math/big"

	"pinion/runtime/rawjson"
)

// rare has the keywords of JSON Schema 2020-12 that the SDK never writes, but another OpenAPI document may have. A nil
// pointer, and a size of -1, stand for an absent keyword.
type rare struct {
	refuse    bool   // the schema false
	constant  string // canonical form
	constText string // as in the schema

	multipleOf     *big.Rat
	multipleOfText string

	unique                   bool
	prefix                   []*node
	contains                 *node
	minContains, maxContains int

	minProperties, maxProperties int
	required                     []string // those without a bit in node.required
	patterns                     []patternProperty
	names                        *node
	dependentRequired            []dependency
	dependentSchemas             []property

	oneOf                 []*node
	not                   *node
	when, then, otherwise *node // if, then, else
}

type patternProperty struct {
	pattern *pattern
	node    *node
}

type dependency struct {
	name     string
	required []string
}

func newRare() *rare {
	return &rare{minContains: -1, maxContains: -1, minProperties: -1, maxProperties: -1}
}

// inPlace returns the schemas that apply to the same value.
func (k *rare) inPlace() []*node {
	list := append([]*node{}, k.oneOf...)
	for _, n := range []*node{k.not, k.when, k.then, k.otherwise} {
		if n != nil {
			list = append(list, n)
		}
	}
	for _, p := range k.dependentSchemas {
		list = append(list, p.node)
	}
	return list
}

// below returns the schemas that apply to members, items or keys.
func (k *rare) below() []*node {
	list := append([]*node{}, k.prefix...)
	for _, n := range []*node{k.contains, k.names} {
		if n != nil {
			list = append(list, n)
		}
	}
	for _, p := range k.patterns {
		list = append(list, p.node)
	}
	return list
}

// The messages of rare keywords. The first %s is the value.
const (
	msgRefused    = "%s is not allowed"
	msgConst      = "%s is not %s"
	msgRange      = "%s is out of range"
	msgMultiple   = "%s is not a multiple of %s"
	msgUnique     = "%s has non-unique elements"
	msgContains   = "%s contains less than %s that its schema asks for"
	msgContainsTo = "%s contains more than %s that its schema asks for"
	msgName       = "%s has the key %s, which its schema does not allow"
	msgOneOf      = "%s is not valid under any of the schemas listed in the 'oneOf' keyword"
	msgOneOfMany  = "%s is valid under more than one of the schemas listed in the 'oneOf' keyword"
	msgNot        = "%s is valid under the schema of the 'not' keyword"
)

// explainValue adds the problems of raw that do not depend on its kind; false means the other keywords need no check.
func (k *rare) explainValue(r *report, field string, raw []byte) bool {
	switch {
	case k.refuse:
		r.add(field, raw, msgRefused)
		return false
	case k.constText != "" && canonical(raw) != k.constant:
		r.add(field, raw, msgConst, k.constText)
		return false
	}
	return true
}

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

func (k *rare) explainArray(r *report, field string, raw []byte) {
	seen := map[string]bool{}
	matching, same := 0, false
	for _, item := range rawjson.Items(raw) {
		if k.unique && !same {
			form := canonical(item)
			same = seen[form]
			seen[form] = true
		}
		if k.contains != nil && k.contains.accepts(item) {
			matching++
		}
	}
	if same {
		r.add(field, raw, msgUnique)
	}
	if k.contains == nil {
		return
	}
	least := k.minContains
	if least < 0 {
		least = 1
	}
	if matching < least {
		r.add(field, raw, msgContains, count(least, "item", "items"))
	}
	if k.maxContains >= 0 && matching > k.maxContains {
		r.add(field, raw, msgContainsTo, count(k.maxContains, "item", "items"))
	}
}

func (k *rare) explainObject(r *report, field string, raw []byte, keys []string, values map[string][]byte) {
	if len(keys) < k.minProperties {
		r.add(field, raw, msgFew, count(k.minProperties, "property", "properties"))
	}
	if k.maxProperties >= 0 && len(keys) > k.maxProperties {
		r.add(field, raw, msgMany, count(k.maxProperties, "property", "properties"))
	}
	need := func(names []string) {
		for _, name := range names {
			if _, ok := values[name]; !ok {
				addMissing(r, field, name)
			}
		}
	}
	need(k.required)
	for _, d := range k.dependentRequired {
		if _, ok := values[d.name]; ok {
			need(d.required)
		}
	}
	for _, p := range k.dependentSchemas {
		if _, ok := values[p.name]; ok {
			p.node.explain(r, field, raw)
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

// explainBranches adds the problems of oneOf, not, and if with then and else.
func (k *rare) explainBranches(r *report, field string, raw []byte) {
	if len(k.oneOf) > 0 {
		switch accepting(k.oneOf, raw) {
		case 0:
			r.add(field, raw, msgOneOf)
		case 2:
			r.add(field, raw, msgOneOfMany)
		}
	}
	if k.not != nil && k.not.accepts(raw) {
		r.add(field, raw, msgNot)
	}
	if n := k.branch(raw); n != nil {
		n.explain(r, field, raw)
	}
}

// branch returns the schema that if selects, or nil.
func (k *rare) branch(raw []byte) *node {
	switch {
	case k.when == nil:
		return nil
	case k.when.accepts(raw):
		return k.then
	}
	return k.otherwise
}
