package schema

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

var update = flag.Bool("update", false, "write testdata/messages.txt anew")

// openapi wraps the Input component, and others, into a document.
func openapi(input string, others ...string) []byte {
	doc := `{"openapi":"3.0.2","components":{"schemas":{"Input":` + input
	for _, other := range others {
		doc += "," + other
	}
	return []byte(doc + "}}}")
}

func mustCompile(t testing.TB, doc []byte) *Schema {
	t.Helper()
	return assert.Must(Compile(doc, "Input"))(t)
}

// prepare checks and prepares input.
func prepare(t testing.TB, s *Schema, input string) (Prepared, []predict.Problem) {
	t.Helper()
	assert.NoError(t, rawjson.Check([]byte(input)), input)
	p, err := s.Prepare([]byte(input))
	if err == nil {
		err := rawjson.Check(p.Input)
		assert.TrueNow(t, err == nil, "prepared %s: got %v, want no error", p.Input, err)
		return p, nil
	}
	var invalid *predict.ValidationError
	assert.TrueNow(t, errors.As(err, &invalid) && len(invalid.Problems) != 0,
		"Prepare(%s) = %v, want a *predict.ValidationError with problems", input, err)
	return p, invalid.Problems
}

// TestMessages_Golden holds every message to testdata/messages.txt: blocks of a schema and of inputs, each
// with what becomes of it.
func TestMessages_Golden(t *testing.T) {
	const file = "testdata/messages.txt"
	want := assert.Must(os.ReadFile(file))(t)
	var got bytes.Buffer
	var s *Schema
	for line := range strings.Lines(string(want)) {
		line = strings.TrimSuffix(line, "\n")
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "schema":
			s = mustCompile(t, []byte(rest))
		case "property": // short for a document with the one property x
			s = mustCompile(t, openapi(`{"type":"object","properties":{"x":`+rest+`}}`, components...))
		case "input":
			fmt.Fprintln(&got, line)
			p, problems := prepare(t, s, rest)
			for _, p := range problems {
				fmt.Fprintf(&got, "  %s %s: %s\n", p.Type, strings.Join(p.Loc, "."), p.Msg)
			}
			if len(problems) == 0 {
				fmt.Fprintf(&got, "  ok %s\n", p.Input)
			}
			for _, name := range p.Unknown {
				fmt.Fprintf(&got, "  unknown %q\n", name)
			}
			for _, f := range p.Files {
				fmt.Fprintf(&got, "  file %s %q %s\n", f.Field, f.URL, p.Input[f.Start:f.End])
			}
			continue
		case "": // what an input came to, or an empty line
			if strings.TrimSpace(line) != "" {
				continue
			}
		}
		fmt.Fprintln(&got, line)
	}
	if *update {
		assert.NoError(t, os.WriteFile(file, got.Bytes(), 0o644))
		return
	}
	gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		assert.TrueNow(t, gotLines[i] == wantLines[i], "%s:%d:\n got %s\nwant %s", file, i+1, gotLines[i], wantLines[i])
	}
	assert.EqualNow(t, file+": lines", len(gotLines), len(wantLines))
}

// components are what properties in the tests refer to.
var components = []string{
	`"size":{"title":"size","description":"An enumeration.","enum":["s","m"],"type":"string"}`,
	`"count":{"enum":[1,2.50,10],"type":"number"}`,
	`"Point":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}},"required":["x","y"]}`,
	`"Tree":{"type":"object","properties":{"value":{"type":"integer"},"children":{"type":"array","items":{"$ref":"#/components/schemas/Tree"}}},"required":["value"]}`,
	`"Maybe":{"type":"string","nullable":true}`,
}
