package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/tests/assert"
)

const formSchema = `{"properties":{
	"s":{"type":"string"}, "i":{"type":"integer","minimum":0}, "n":{"type":"number"}, "b":{"type":"boolean"},
	"c":{"allOf":[{"$ref":"#/components/schemas/Pick"}]},
	"os":{"anyOf":[{"type":"string"},{"type":"null"}]}, "oi":{"type":"integer","nullable":true},
	"u":{"anyOf":[{"type":"integer"},{"type":"string"}]}, "any":{},
	"l":{"type":"array","items":{"type":"integer"}}, "ls":{"type":"array","items":{"type":"string"}},
	"ol":{"anyOf":[{"type":"array","items":{"type":"number"}},{"type":"null"}]}, "o":{"type":"object"},
	"f":{"type":"string","format":"uri"}, "fs":{"type":"array","items":{"type":"string","format":"uri"}},
	"of":{"anyOf":[{"type":"string","format":"uri"},{"type":"null"}]}}}`

const formPick = `"Pick":{"enum":[1,2],"type":"integer"}`

func formOf(t *testing.T, s *Schema, input string, pairs ...string) string {
	t.Helper()
	var fields []predict.FormField
	for i := 0; i < len(pairs); i += 2 {
		f := predict.FormField{Name: pairs[i], Value: []byte(pairs[i+1])}
		switch {
		case predict.IsPlaceholder(f.Value):
			f.Form = predict.FieldFile
		case strings.HasPrefix(pairs[i+1], "json:"):
			f.Form, f.Value = predict.FieldJSON, f.Value[len("json:"):]
		}
		fields = append(fields, f)
	}
	return string(s.Form([]byte(input), fields))
}

func formSchemaOf(t testing.TB) *Schema {
	t.Helper()
	return mustCompile(t, openapi(formSchema, formPick))
}

func TestForm_ReadsTextByType(t *testing.T) {
	s := formSchemaOf(t)
	for _, c := range []struct{ name, text, want string }{
		{"s", "3", `"3"`},
		{"s", "null", `"null"`},
		{"s", "", `""`},
		{"s", " a\n", `" a\n"`},
		{"s", "\xff\x00", "\"\uFFFD\\u0000\""},
		{"i", "3", `3`},
		{"i", " 3\n", `3`},
		{"i", "-1", `-1`},
		{"i", "three", `"three"`},
		{"i", "3.0", `3.0`},
		{"i", "1.5", `1.5`},
		{"i", "123456789012345678901234567890", `123456789012345678901234567890`},
		{"i", "", `""`},
		{"i", "null", `"null"`},
		{"n", "1e3", `1e3`},
		{"n", "NaN", `"NaN"`},
		{"n", "true", `true`},
		{"b", "true", `true`},
		{"b", "False", `false`},
		{"b", "on", `true`},
		{"b", "no", `false`},
		{"b", "1", `1`},
		{"c", "2", `2`},
		{"c", "7", `7`},
		{"os", "null", `"null"`},
		{"os", "5", `"5"`},
		{"oi", "", `null`},
		{"oi", "null", `null`},
		{"oi", "4", `4`},
		{"u", "5", `5`},
		{"u", "five", `"five"`},
		{"any", "5", `"5"`},
		{"unknown", "5", `"5"`},
		{"l", "[1, 2]", `[1, 2]`},
		{"l", "7", `[7]`},
		{"l", "x", `["x"]`},
		{"ls", "[x", `["[x"]`},
		{"ls", "a", `["a"]`},
		{"ol", "1.5", `[1.5]`},
		{"o", `{"a":[1]}`, `{"a":[1]}`},
		{"o", "{", `"{"`},
		{"f", "https://x/y", `"https://x/y"`},
		{"fs", "data:,x", `["data:,x"]`},
		{"i", "json:3", `3`},
		{"l", "json:[1]", `[1]`},
		{"l", "json:1", `[1]`},
		{"s", "json:1", `1`},
	} {
		assert.Equal(t, fmt.Sprintf("%s=%q", c.name, c.text), formOf(t, s, `{}`, c.name, c.text), `{"`+c.name+`":`+c.want+`}`)
	}
}

func TestForm_JoinsFields(t *testing.T) {
	s := formSchemaOf(t)
	for _, c := range []struct {
		input string
		pairs []string
		want  string
	}{
		{`{"s":"x"}`, nil, `{"s":"x"}`},
		{` { "s" : "x" } `, []string{"i", "1"}, `{ "s" : "x" ,"i":1}`},
		{` { } `, []string{"i", "1"}, `{"i":1}`},
		{`{}`, []string{"l", "1", "s", "a", "l", "2"}, `{"l":[1,2],"s":"a"}`},
		{`{}`, []string{"s", "a", "s", "b"}, `{"s":["a","b"]}`},
		{`{"i":1}`, []string{"i", "2"}, `{"i":1,"i":2}`}, // of equal keys the last one counts
		{`{}`, []string{`q"\`, "a"}, `{"q\"\\":"a"}`},
	} {
		got := formOf(t, s, c.input, c.pairs...)
		assert.True(t, got == c.want && rawjson.Check([]byte(got)) == nil, "%s and %q: %s, want %s", c.input, c.pairs, got, c.want)
	}
}

func TestForm_AttachedFilesStandWhereFilesMay(t *testing.T) {
	s := formSchemaOf(t)
	zero, first := string(predict.AppendPlaceholder(nil, 0, `a"b.png`)), string(predict.AppendPlaceholder(nil, 1, ""))
	for _, c := range []struct {
		pairs []string
		files []string // field and number
	}{
		{[]string{"f", zero}, []string{"f 0"}},
		{[]string{"of", first, "f", zero}, []string{"of 1", "f 0"}},
		{[]string{"fs", zero}, []string{"fs/0 0"}},
		{[]string{"fs", zero, "fs", "data:,x", "fs", first}, []string{"fs/0 0", "fs/1 data:,x", "fs/2 1"}},
		{[]string{"unknown", zero, "f", first}, []string{"f 1"}},
	} {
		p, err := s.PrepareAttached([]byte(formOf(t, s, `{}`, append(c.pairs,
			"s", "x", "i", "1", "n", "1", "b", "on", "c", "1", "u", "1", "l", "1", "ls", "1", "o", "{}")...)))
		if err != nil {
			t.Errorf("%q: got %v, want no error", c.pairs, err)
			continue
		}
		var got []string
		for _, f := range p.Files {
			what := f.URL
			if what == "" {
				what = string(rune('0' + f.Attached))
			}
			got = append(got, f.Field+" "+what)
			raw := p.Input[f.Start:f.End]
			assert.False(t, f.URL == "" && !predict.IsPlaceholder(raw), `%q: a file stands at %q: got "", want some text`, c.pairs, raw)
		}
		assert.True(t, strings.Join(got, "|") == strings.Join(c.files, "|"), "%q: files %q, want %q", c.pairs, got, c.files)
	}
}

func TestForm_AttachedFilesElsewhereAreRefused(t *testing.T) {
	s := formSchemaOf(t)
	file := string(predict.AppendPlaceholder(nil, 0, `a "b".txt`))
	for input, want := range map[string]string{
		`{"s":` + file + `}`:                  `body.input.s: file "a \"b\".txt" is given for an input that takes no file`,
		`{"any":{"x":[1,` + file + `]}}`:      `body.input.any: file "a \"b\".txt" is given for an input that takes no file`,
		`{"i":` + file + `}`:                  `body.input.i: file "a \"b\".txt" is not of type "integer"`,
		`{"l":[` + file + `]}`:                `body.input.l/0: file "a \"b\".txt" is not of type "integer"`,
		`{"f":` + file + `,"s":` + file + `}`: `body.input.s: file "a \"b\".txt" is given for an input that takes no file`,
	} {
		_, err := s.PrepareAttached([]byte(input))
		var invalid *predict.ValidationError
		assert.True(t, errors.As(err, &invalid) && err.Error() == want, "%q: %v, want %s", input, err, want)
	}
}

// FuzzForm checks that a form always becomes strict JSON, in which no text is a placeholder.
func FuzzForm(f *testing.F) {
	f.Add("i", "3", "l", "[1]")
	f.Add("fs", "data:,x", "fs", "\"\x000:x\"")
	f.Add("b", "on", "\"\x00", "null")
	s := formSchemaOf(f)
	f.Fuzz(func(t *testing.T, a, x, b, y string) {
		got := s.Form([]byte(`{"s":"x"}`), []predict.FormField{{Name: a, Value: []byte(x)}, {Name: b, Value: []byte(y)}})
		if err := rawjson.Check(got); err != nil || rawjson.KindOf(got) != rawjson.KindObject {
			t.Fatalf("%q=%q %q=%q: %s: %v, want %v", a, x, b, y, got, err, rawjson.KindObject)
		}
		p, err := s.PrepareAttached(got)
		assert.TrueNow(t, err != nil || rawjson.Check(p.Input) == nil, "prepared %s", p.Input)
	})
}
