package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestSchema_AgreesWithLibrary makes schemas of every keyword, and inputs for them, and holds that a JSON Schema
// library finds the same problems in the same words.
func TestSchema_AgreesWithLibrary(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	valid, invalid := 0, 0
	for range 3000 {
		g := generator{rnd}
		property := g.schema(3)
		doc := openapi(`{"type":"object","properties":{"x":`+jsonText(property)+`}}`, components...)
		s := mustCompile(t, doc)
		f := &s.fields[0]
		other := byLibrary(t, doc, s)
		for range 10 {
			raw := g.value(property, 4)
			own, theirs := problemsOf(f.node, raw), problemsOf(other, raw)
			if !slices.Equal(own, theirs) {
				t.Fatalf("schema %s\ninput %s\ngot  %s\nwant %s", jsonText(property), raw, strings.Join(own, "\n  "),
					strings.Join(theirs, "\n  "))
			}
			if good := f.node.accepts(raw); good != (len(own) == 0) {
				t.Fatalf("schema %s, want %t\ninput %s: accepts = %v, and explain finds %v", jsonText(property), len(own) == 0, raw,
					good, own)
			}
			if len(own) == 0 {
				valid++
			} else {
				invalid++
			}
		}
	}
	// The test means something only while both happen often.
	assert.True(t, valid >= 3000 && invalid >= 3000,
		"%d valid and %d invalid inputs, want at least 3000 and at least 3000", valid, invalid)
}

// byLibrary validates the one property of s with the oracle.
func byLibrary(t *testing.T, openapi []byte, s *Schema) *foreign {
	t.Helper()
	d := assert.Must(readDocument(openapi))(t)
	m := assert.Must(d.inputComponent("Input"))(t)
	l := assert.Must(newLibrary(d, map[string]any{"p": m["properties"].(map[string]any)[s.fields[0].name]}))(t)
	return assert.Must(l.compile("p"))(t)
}

func problemsOf(part interface {
	explain(*report, string, []byte)
}, raw []byte,
) []string {
	var r report
	part.explain(&r, "x", raw)
	var list []string
	for _, p := range r.problems {
		list = append(list, fmt.Sprintf("%s %s %s", p.Type, p.Loc[2], p.Msg))
	}
	slices.Sort(list)
	return list
}

// generator makes schemas and values.
type generator struct{ *rand.Rand }

func pick[T any](g generator, list ...T) T { return list[g.IntN(len(list))] }

func (g generator) schema(levels int) map[string]any {
	m := map[string]any{}
	switch n := g.IntN(11); {
	case n == 0:
		m["allOf"] = []any{map[string]any{"$ref": refPrefix + pick(g, "size", "count", "Point", "Maybe", "Tree")}}
	case n == 1 && levels > 0:
		branches := []any{g.schema(levels - 1), g.schema(levels - 1)}
		if g.IntN(3) == 0 {
			branches = append(branches, map[string]any{"type": "null"})
		}
		m["anyOf"] = branches[g.IntN(2):]
	case n == 2:
		m["enum"] = []any{pick[any](g, nil, true, "a", json.Number("1")), pick[any](g, json.Number("2.0"), "", "é")}
	case n == 3:
		m["type"] = []any{pick(g, "string", "null"), pick(g, "integer", "boolean")}
	case n == 4:
		m["type"] = "boolean"
	case n == 5 && levels > 0:
		m["type"] = "array"
		m["items"] = g.schema(levels - 1)
		g.maybe(m, "minItems", json.Number(fmt.Sprint(g.IntN(3))))
		g.maybe(m, "maxItems", json.Number(fmt.Sprint(g.IntN(4))))
	case n == 6 && levels > 0:
		m["type"] = "object"
		m["properties"] = map[string]any{"a": g.schema(levels - 1), "b": g.schema(levels - 1)}
		g.maybe(m, "required", []any{pick(g, "a", "b")})
		g.maybe(m, "additionalProperties", pick[any](g, false, true, g.schema(levels-1)))
	case n == 7:
		m["type"] = "string"
		g.maybe(m, "minLength", json.Number(fmt.Sprint(g.IntN(4))))
		g.maybe(m, "maxLength", json.Number(fmt.Sprint(g.IntN(5))))
		g.maybe(m, "pattern", pick(g, "a", "^a", `^\w*$`, "é$", "(?!a)^.", "."))
	case n == 8:
		m["type"] = "string"
		m["format"] = pick(g, "uri", "date-time")
	default:
		m["type"] = pick(g, "integer", "number")
		g.maybe(m, "minimum", json.Number(g.number()))
		g.maybe(m, "maximum", json.Number(g.number()))
		if g.IntN(4) == 0 {
			if m["minimum"] != nil && g.IntN(2) == 0 {
				m["exclusiveMinimum"] = json.Number(g.number())
			} else {
				m["exclusiveMaximum"] = json.Number(g.number())
			}
		}
	}
	if g.IntN(4) == 0 {
		m["nullable"] = true
	}
	g.maybe(m, "x-order", json.Number("0"))
	if g.IntN(4) == 0 {
		g.rare(m, levels)
	}
	return m
}

// rare adds a keyword that the SDK never writes.
func (g generator) rare(m map[string]any, levels int) {
	size := json.Number(fmt.Sprint(g.IntN(4)))
	plain := pick(g, "multipleOf", "uniqueItems", "minProperties", "maxProperties", "required", "const", "enum")
	switch plain {
	case "multipleOf":
		m[plain] = json.Number(pick(g, "0.5", "2", "0.1"))
	case "uniqueItems":
		m[plain] = true
	case "minProperties", "maxProperties":
		m[plain] = size
	case "required":
		m[plain] = []any{"y", "a"}
	case "const", "enum":
		v := pick[any](g, json.Number("1.0"), "a", []any{json.Number("1"), nil},
			map[string]any{"a": json.Number("2"), "x": true}, []any{}, map[string]any{})
		if plain == "enum" {
			v = []any{v, "s"}
		}
		delete(m, "enum") // both are only written with the same value
		m[plain] = v
	}
	if levels == 0 {
		return
	}
	below := g.schema(levels - 1)
	switch keyword := pick(g, "oneOf", "prefixItems", "patternProperties", "propertyNames", ""); keyword {
	case "oneOf":
		m[keyword] = []any{below, g.schema(levels - 1)}
	case "prefixItems":
		m[keyword] = []any{below, pick[any](g, true, g.schema(levels-1))}
	case "patternProperties":
		m[keyword] = map[string]any{pick(g, "a", "b"): below}
	case "propertyNames":
		if levels == 3 { // deeper, the library's errors lose their place: they share its memory
			m[keyword] = map[string]any{"maxLength": json.Number("1")}
		}
	}
}

func (g generator) maybe(m map[string]any, keyword string, v any) {
	if g.IntN(2) == 0 {
		m[keyword] = v
	}
}

func (g generator) number() string {
	return pick(g, "0", "1", "2", "1.0", "10e-1", "-1", "0.5", "1.5", "9007199254740993", "-0.0", "2.00", "1e1")
}

// value makes a value, more often than not of the type that schema asks for.
func (g generator) value(schema map[string]any, levels int) []byte {
	want, _ := schema["type"].(string)
	if want == "" || g.IntN(5) == 0 {
		want = pick(g, "null", "boolean", "number", "string", "array", "object")
	}
	switch want {
	case "boolean":
		return []byte(pick(g, "true", "false"))
	case "integer", "number":
		return []byte(g.number())
	case "string":
		return []byte(pick(g, `""`, `"a"`, `"é"`, `"ab"`, `"a\u00e9"`, `"\ud83d\ude00\n"`, `"s"`, `"abcde"`, `"data:,x"`,
			`"https://a.b/"`, `"https:\/\/"`))
	case "array":
		items, _ := schema["items"].(map[string]any)
		out := []byte("[")
		for i := range g.size(levels) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, g.value(items, levels-1)...)
		}
		return append(out, ']')
	case "object":
		named, _ := schema["properties"].(map[string]any)
		out := []byte("{")
		for i := range g.size(levels) {
			if i > 0 {
				out = append(out, ',')
			}
			key := pick(g, "a", "b", "x", "y", "c/d", "value") // often twice the same
			below, _ := named[key].(map[string]any)
			if below == nil && (key == "x" || key == "y") {
				below = map[string]any{"type": "integer"} // as a Point has it
			}
			out = append(out, `"`+key+`":`...)
			out = append(out, g.value(below, levels-1)...)
		}
		return append(out, '}')
	}
	return []byte("null")
}

func (g generator) size(levels int) int {
	if levels == 0 {
		return 0
	}
	return g.IntN(4)
}
