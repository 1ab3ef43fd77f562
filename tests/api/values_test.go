package api

import (
	"encoding/json"
	"math/big"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// problem is one entry of a 422.
type problem struct {
	Loc  []string `json:"loc"`
	Msg  string   `json:"msg"`
	Type string   `json:"type"`
}

func problems(t *testing.T, a harness.Answer) []problem {
	t.Helper()
	var body struct{ Detail []problem }
	assert.TrueNow(t, json.Unmarshal(a.Body, &body) == nil && a.Code == http.StatusUnprocessableEntity,
		"got %s, want 422 with problems", a)
	return body.Detail
}

func TestValues_InputsArriveInTheirAnnotatedTypes(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "typed.py"})
		big9 := strings.Repeat("9", 60)
		for _, c := range []struct{ input, field, want string }{
			{`{}`, "text", "str 'abc'"},
			{`{}`, "words", "list ['a']"},
			{`{}`, "maybe", "NoneType None"},
			{`{}`, "mixed", "int 7"},
			{`{"maybe":null}`, "maybe", "NoneType None"},
			{`{"maybe":5}`, "maybe", "int 5"},
			{`{"whole":7.0}`, "whole", "int 7"},
			{`{"whole":1e1}`, "whole", "int 10"},
			{`{"part":1}`, "part", "float 1.0"},
			{`{"part":0}`, "part", "float 0.0"},
			{`{"part":1e-320}`, "part", "float 1e-320"},
			{`{"scores":{"b":1,"a":2.5}}`, "scores", "dict {'b': 1.0, 'a': 2.5}"},
			{`{"numbers":[1.0,` + big9 + `]}`, "numbers", "list [1, " + big9 + "]"},
			{
				`{"table":{"z":{"y":[1,2.0,"é",null,true]},"a":1}}`, "table",
				"dict {'z': {'y': [1, 2.0, 'é', None, True]}, 'a': 1}",
			},
			{`{"table":{"a":1,"a":2}}`, "table", "dict {'a': 2}"},
			{`{"free":[{"a":[]}]}`, "free", "list [{'a': []}]"},
			{`{"anything":{"x":[1.5,-0.0]}}`, "anything", "dict {'x': [1.5, -0.0]}"},
			{`{"mixed":"7"}`, "mixed", "str '7'"},
			{`{"mixed":7.0}`, "mixed", "float 7.0"},
			{`{"choice":2.0}`, "choice", "int 2"},
			{`{"size":"m"}`, "size", "str 'm'"},
			{`{"text":"\u0061\u0062"}`, "text", "str 'ab'"},
			{`{"flag":true}`, "flag", "bool True"},
			{`{"words":["\ud83d\ude00","\u0000"]}`, "words", `list ['😀', '\x00']`},
		} {
			a := s.Create(`{"input":` + c.input + `}`)
			if a.Status != "succeeded" {
				t.Errorf("%s: %s, want Status succeeded", c.input, a)
				continue
			}
			var got map[string]string
			a.Decode(t, &got)
			assert.Equal(t, c.input+": got", got[c.field], c.want)
		}
	})
}

func TestValues_NumbersKeepEveryDigit(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "typed.py:Scaled"})
	digits := strings.Repeat("1234567890", 300)
	for value, want := range map[string]string{
		"-0": "int 0", "9223372036854775807": "int 9223372036854775807", "9223372036854775808": "int 9223372036854775808",
		"-9223372036854775809": "int -9223372036854775809", "18446744073709551616": "int 18446744073709551616",
		digits: "int " + digits, "1e20": "int 100000000000000000000",
	} {
		if got := s.Create(`{"input":{"whole":` + value + `}}`); !strings.HasPrefix(got.Text(t), want+", ") {
			t.Errorf("%.30s: got %.100s, want Text starting with %q", value, got, want+", ")
		}
	}
	for value, want := range map[string]string{
		"0.1": "0.1", "-0.0": "-0.0", "1e308": "1e+308", "5e-324": "5e-324", "123456789012345678": "1.2345678901234568e+17",
		"0.30000000000000004": "0.30000000000000004", "1e-400": "0.0",
	} {
		assert.Contains(t, value, s.Create(`{"input":{"part":`+value+`}}`).Text(t), ", float "+want+", ")
	}
	for _, field := range []string{"part", "whole"} {
		a := s.Create(`{"input":{"` + field + `":1e400}}`)
		harness.WantAnswer(t, field+": 1e400: got", a, http.StatusBadRequest, "out of the range of a double")
	}
}

func TestValues_MutableDefaultIsFreshInEachPrediction(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "typed.py:Mutable"})
	for range 3 {
		harness.EqualJSON(t, "output", s.Succeed(harness.Input{}).Output, `[[1,2],{"n":1}]`)
	}
}

func TestValues_OutputsBecomeJSON(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 400) + strings.Repeat("]", 400)
	two200 := new(big.Int).Lsh(big.NewInt(1), 200).String()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "outputs.py:run"})
		for name, want := range map[string]string{
			"none": `null`, "str": `"grüße 😀 \u0000 \"\\"`, "empty": `""`, "int": two200, "negative": "-9223372036854775809",
			"float": `0.1`, "whole float": `1.0`, "tiny": `5e-324`, "bool": `[true,false]`, "list": `[1,"a",null,[2.5]]`,
			"dict": `{"b":1,"a":{"c":[null]}}`, "int keys": `{"1":"a"}`, "tuple": `[1,[2,3]]`, "set": `[7]`, "empty set": `[]`,
			"enum": `"red"`, "datetime": `"2020-01-02T03:04:05+00:00"`, "date": `"2020-01-02"`,
			"uuid": `"00000000-0000-0000-0000-000000000001"`, "decimal": `"1.50"`, "model": `{"x":1,"y":2.5}`,
			"dataclass": `[{"left":"l","right":[{"x":3,"y":4.0}]}]`, "secret": `{"token":"**********"}`, "deep enough": deep,
		} {
			a := s.Succeed(harness.Input{"name": name})
			harness.EqualJSON(t, name, a.Output, want)
			assert.Contains(t, name+": no output in", string(a.Body), `"output":`)
		}
		assert.Contains(t, "the order of keys", string(s.Succeed(harness.Input{"name": "dict"}).Output), `{"b":1,"a":`)
	})
}

func TestValues_WhatCannotBecomeJSONFailsNamingTypeAndPlace(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "outputs.py:run"})
		for name, words := range map[string][]string{
			"nan": {"nan", "scores", "1"}, "infinity": {"inf", "0", "a"}, "bytes": {"bytes", "image", "0"},
			"object": {"Odd", "1", "thing"}, "complex": {"complex"}, "function": {"builtin_function_or_method", "f"},
			"odd key": {"tuple"}, "lone surrogate": {"surrogate"}, "loop": {"deep"}, "too deep": {"deep"},
			"missing path": {"nowhere/missing.png"},
		} {
			a := s.Fail(harness.Input{"name": name})
			for _, word := range words {
				assert.Contains(t, name+": the error", strings.ToLower(a.Error), strings.ToLower(word))
			}
		}
		s.Succeed(harness.Input{"name": "none"})
		assert.Equal(t, "restarts", s.Health().Workers[0].Restarts, 0)
	})
}

func TestValues_ArraysAndPydanticModelsBecomeJSON(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, c := range []struct{ module, model, want string }{
			{"numpy", "arrays", `{"vector":[0,1,2],"matrix":[[1.0,0.0],[0.0,1.0]],"scalar":0.5,"flag":true,"empty":[]}`},
			{"pydantic", "records", `{"name":"a","inner":[{"n":1}]}`},
		} {
			if !harness.Has(python, c.module) {
				t.Logf("left out: %s is not installed", c.module)
				continue
			}
			s := harness.Ready(t, harness.Options{Python: python.Path, Model: "outputs.py:" + c.model})
			harness.EqualJSON(t, c.module, s.Succeed(harness.Input{}).Output, c.want)
		}
	})
}

// Whether a list needs converting is seen in C; only one that does is gone through.
func TestValues_NumbersOfListsHaveTypesOfSignature(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	model := `
from cog import BaseRunner

class Runner(BaseRunner):
    def run(self, floats: list[float] = [], ints: list[int] = [], rows: list[list[float]] = []) -> str:
        return repr((floats, ints, rows))
`
	harness.WriteFile(t, filepath.Join(dir, "lists.py"), model)
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Dir: dir, Model: "lists.py:Runner"})
		for given, want := range map[string]string{
			`{"floats":[],"ints":[],"rows":[[]]}`:                                 `([], [], [[]])`,
			`{"floats":[0.5,2.0],"ints":[1,-2],"rows":[[1.5],[2.5,3.0]]}`:         `([0.5, 2.0], [1, -2], [[1.5], [2.5, 3.0]])`,
			`{"floats":[0.5,2],"ints":[1,-2.0],"rows":[[1.5],[2.5,3]]}`:           `([0.5, 2.0], [1, -2], [[1.5], [2.5, 3.0]])`,
			`{"floats":[1],"ints":[10000000000000000000000,1e2],"rows":[[],[7]]}`: `([1.0], [10000000000000000000000, 100], [[], [7.0]])`,
		} {
			a := s.Create(`{"input":` + given + `}`)
			assert.True(t, a.Code == http.StatusOK && a.Text(t) == want, "%s: %s, want %s", given, a, want)
		}
		for _, wrong := range []string{
			`{"floats":[0.5,"1"]}`, `{"floats":[true]}`, `{"floats":[null]}`, `{"ints":[1,2.5]}`,
			`{"ints":[1,15e-1]}`, `{"rows":[[1],2]}`,
		} {
			problems(t, s.Create(`{"input":`+wrong+`}`))
		}
	})
}
