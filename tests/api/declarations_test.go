package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// oddDeclarations has what Cog serves and other servers may not.
const oddDeclarations = `
from typing import Annotated, List, Optional
from cog import BaseRunner, Input, Opaque, Secret

class Foreign: ...

class Runner(BaseRunner):
    def run(
        self,
        text: str,
        *args: int,
        log: str = True,
        scale: str = Input(default=1, choices=[1, 2]),
        steps: Annotated[int, Input(ge=1, le=9)] = 3,
        many: Annotated[List[Foreign], Opaque] = Input(default=[]),
        one: Annotated[Optional[Foreign], Opaque] = None,
        note: Optional[str] = None,
        key: Secret = None,
        _hint: str = "h",
        __seed: int = Input(default=7),
        **kwargs: str,
    ) -> str:
        return repr((text, args, log, scale, steps, many, one, note, key, _hint, __seed, kwargs))
`

// TestDeclarations_OddDeclarationsAreServedAsCogServesThem: the properties are those of Cog's own generator, except for
// Annotated[...] with Input(), which that refuses.
func TestDeclarations_OddDeclarationsAreServedAsCogServesThem(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		c := harness.CLI{Python: python.Path, Dir: harness.NewFolder(t, "run.py", oddDeclarations)}
		s := harness.Ready(t, harness.Options{Python: python.Path, Dir: c.Dir})
		harness.EqualJSON(t, "the document", []byte(c.Good(t, "schema", "--static")),
			string(s.Do(http.MethodGet, "/openapi.json", nil).Body))
		harness.EqualJSON(t, "the input", []byte(c.Good(t, "schema", "--static", "--input")),
			`{"title":"Input","type":"object","required":["text"],"properties":{
			"text":{"title":"Text","type":"string","x-order":0},
			"log":{"title":"Log","type":"string","default":true,"x-order":1},
			"scale":{"allOf":[{"$ref":"#/components/schemas/scale"}],"default":1,"x-order":2},
			"steps":{"title":"Steps","type":"integer","minimum":1,"maximum":9,"default":3,"x-order":3},
			"many":{"title":"Many","type":"array","items":{"type":"object"},"default":[],"x-order":4},
			"one":{"title":"One","type":"object","nullable":true,"default":null,"x-order":5},
			"note":{"title":"Note","type":"string","nullable":true,"default":null,"x-order":6},
			"key":{"title":"Key","type":"string","format":"password","writeOnly":true,"x-cog-secret":true,"nullable":true,"default":null,"x-order":7},
			"_hint":{"title":"Hint","type":"string","default":"h","x-order":8},
			"__seed":{"title":"Seed","type":"integer","default":7,"x-order":9}}}`)

		const defaults = `('a', (), True, 1, 3, [], None, None, None, 'h', 7, {})`
		assert.Equal(t, "the function got",
			s.Succeed(harness.Input{"text": "a", "args": []int{1}, "kwargs": harness.Input{"x": 1}, "more": 2}).Text(
				t), defaults)
		assert.Equal(t, "pinion predict: the function got", strings.TrimSpace(c.Good(t, "predict", "-i", "text=a")), defaults)
		given := harness.Input{
			"text": "a", "log": "l", "steps": 9, "many": []any{harness.Input{"b": 1}}, "one": nil, "_hint": "i",
			"__seed": 8.0,
		}
		const want = `('a', (), 'l', 1, 9, [{'b': 1}], None, None, None, 'i', 8, {})`
		assert.Equal(t, "the function got", s.Succeed(given).Text(t), want)
		for body, message := range map[string]string{
			`{"steps":0}`: `0 is less than the minimum of 1`, `{"many":{}}`: `{} is not of type "array"`,
			`{"many":[1]}`: `1 is not of type "object"`, `{"scale":"1"}`: `"1" is not one of [1,2]`,
			`{"log":true}`: `true is not of type "string"`,
		} {
			a := s.Create(`{"input":{"text":"a",` + body[1:] + `}`)
			if found := problems(t, a); len(found) != 1 || found[0].Msg != message {
				t.Errorf("%s is answered %s: got len(found) %d, want len(found) 1 and Msg %q", body, a, len(found), message)
			}
		}
		for _, name := range []string{"log", "scale"} {
			waitLogged(t, s, `parameter "`+name+`" of Runner.run: the `)
			assert.Contains(t, "setup.logs says nothing of "+name, s.Health().Setup.Logs,
				`parameter "`+name+`" of Runner.run: the `)
		}
	})
}

func TestDeclarations_CLICheckWarnsOfOddDeclarations(t *testing.T) {
	t.Parallel()
	assert.Contains(t, "stdout", harness.CLI{Dir: harness.NewFolder(t, "run.py", oddDeclarations)}.Good(t, "check"),
		`warning: run.py:12: parameter "log" of Runner.run: the default True is not of type str`,
		`warning: run.py:13: parameter "scale" of Runner.run: the choices [1, 2] are not of type str`,
		"no problem and 2 warnings: run.py loads")
}

// TestDeclarations_BothRunAndPredict: Cog refuses such a cog.yaml. Here run is served, and the log says so.
func TestDeclarations_BothRunAndPredict(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "cog.yaml", "predict: old.py:run\nrun: run.py:run\n",
		"run.py", "def run() -> str: return 'new'\n", "old.py", "def run() -> str: return 'old'\n")}
	got := c.Run(t, "check")
	assert.Equal(t, "check ended with", got.Code, 1)
	assert.Contains(t, "check", got.Stdout, "cog.yaml:1: run and predict are both set: Cog allows only one",
		"remove predict")
	s := harness.Ready(t, harness.Options{Dir: c.Dir})
	waitLogged(t, s, "cog.yaml:1: run and predict are both set: Cog allows only one")
	assert.Equal(t, "what is served", s.Succeed(harness.Input{}).Text(t), "new")
	s = harness.Ready(t, harness.Options{Dir: c.Dir, Model: "old.py:run"})
	assert.False(t, hasLogged(s, "run and predict are both set"),
		"the server warns of a file that does not count, want no warning")
}

// hasLogged reports whether the server's log has a line with this text in it.
func hasLogged(s *harness.Server, text string) bool {
	_, found := s.Log.First(func(l harness.Line) bool { return strings.Contains(l.Text, text) })
	return found
}

func waitLogged(t *testing.T, s *harness.Server, text string) {
	t.Helper()
	assert.Eventually(t, "the log says "+text, func() bool { return hasLogged(s, text) })
}

// TestVariableParameters_EveryInputPasses: a function that names no input takes all, as with Cog; check and the log
// warn.
func TestVariableParameters_EveryInputPasses(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py",
		"import json\n\n\ndef run(*args, **kwargs) -> str:\n    return json.dumps([args, kwargs], sort_keys=True)\n")
	s := harness.Ready(t, harness.Options{Dir: dir})
	for body, want := range map[string]string{
		`{"input":{}}`:                           `[[], {}]`,
		`{"input":{"b":[1,{"c":null}],"a":1.5}}`: `[[], {"a": 1.5, "b": [1, {"c": null}]}]`,
		`{"input":{"a-b":1,"class":"x"}}`:        `[[], {"a-b": 1, "class": "x"}]`,
	} {
		got := s.Do(http.MethodPost, "/predictions", json.RawMessage(body))
		var text string
		_ = json.Unmarshal(got.Output, &text)
		assert.Equal(t, body, text, want)
		assert.Equal(t, body+": warnings", got.Header.Get("Pinion-Warning"), "")
	}
	assert.Contains(t, "the document", string(s.Do(http.MethodGet, "/openapi.json", nil).Body),
		`"additionalProperties":true`)
	assert.Contains(t, "the log", s.Log.String(), "takes *args or **kwargs")
	c := harness.CLI{Dir: dir}
	assert.Contains(t, "check", c.Good(t, "check"), "warning: run.py:4: run: it takes *args or **kwargs",
		"functools.wraps", "no problem and 1 warning")
	assert.Contains(t, "predict", c.Good(t, "predict", "-i", "n=3", "-i", "text=two words"),
		`[[], {"n": 3, "text": "two words"}]`)

	c.Dir = harness.NewFolder(t, "run.py", "def run(a: int, **kwargs) -> str: return repr((a, kwargs))\n")
	assert.Contains(t, "beside a named input", c.Bad(t, 2, "predict", "-i", "a=1", "-i", "b=2"), `unknown input "b"`)
}
