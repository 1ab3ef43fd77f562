package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// passingModels are models that give their streamed input to another one, "b", while it answers.
var passingModels = map[string]string{
	"sync": `
from collections.abc import Iterator
import cog

def run(words: Iterator[str], how: str = "") -> Iterator[str]:
    yield from cog.call("b", words=(word + "!" for word in words), how=how)
`,
	"threads": `
from collections.abc import Iterator
import cog

@cog.concurrent(max=2)
def run(words: Iterator[str], how: str = "") -> Iterator[str]:
    yield from cog.call("b", words=map(lambda word: word + "!", words), how=how)
`,
	"async": `
from collections.abc import AsyncIterator
import cog

@cog.concurrent(max=2)
async def run(words: AsyncIterator[str], how: str = "") -> AsyncIterator[str]:
    async for word in cog.call_async("b", words=(word + "!" async for word in words), how=how):
        yield word
`,
	"b": `
from collections.abc import Iterator

def run(words: Iterator[str], how: str) -> Iterator[str]:
    for word in words:
        if how == "fails":
            raise ValueError("the other model's")
        yield word.upper()
        if how == "early":
            return
`,
}

// TestStreamsIn_FromModelToModel: an iterator of a call streams while the other model answers.
func TestStreamsIn_FromModelToModel(t *testing.T) {
	t.Parallel()
	s, _ := callingModels(t, passingModels, nil, harness.Options{Args: []string{"--queue", "8"}})
	for _, name := range []string{"sync", "threads", "async"} {
		path := "/models/" + name + "/predictions"
		for range 2 {
			v := openAt(t, s, path, `{"input": {}}`)
			for _, word := range []string{"a", "b", "c"} {
				v.send(`"` + word + `"`)
				assert.Contains(t, name, v.next("output"), strings.ToUpper(word)+"!")
			}
			assert.NoError(t, v.items.Close(), "end the body")
			harness.EqualJSON(t, name, v.end().Output, `["A!","B!","C!"]`)
		}
		v := openAt(t, s, path, `{"input": {"how": "early"}}`) // the caller's iterator still waits
		v.send(`"a"`)
		assert.Contains(t, name, v.next("output"), "A!")
		harness.EqualJSON(t, name+" early", v.end().Output, `["A!"]`)

		v = openAt(t, s, path, `{"input": {"how": "fails"}}`)
		v.send(`"a"`)
		p := v.end()
		assert.Equal(t, name+": p.Status", p.Status, "failed")
		assert.Contains(t, name+": p.Error", p.Error, "the other model's")

		v = openAt(t, s, path, `{"input": {}}`)
		v.send(`3`)
		p = v.end()
		assert.Equal(t, name+": p.Status", p.Status, "failed")
		assert.Contains(t, name+": the error of its own input", p.Error, `words/0: 3 is not of type "string"`)

		v = openAt(t, s, path, `{"id": "waits", "input": {}}`)
		v.send(`"a"`)
		v.next("output")
		cancel := s.Do(http.MethodPost, "/models/"+name+"/predictions/waits/cancel", nil)
		harness.WantCode(t, "cancel", cancel, http.StatusOK)
		assert.Equal(t, name+": a cancel", v.end().Status, "canceled")

		many := strings.Repeat(`"x",`, 3000) // more than wait anywhere
		a := s.Do(http.MethodPost, path, fmt.Sprintf(`{"input": {"words": [%s"y"]}}`, many))
		harness.WantCode(t, name+": many items", a, http.StatusOK)
		assert.True(t, strings.Count(string(a.Output), "X!") == 3000, "%s: got %.300s, want 3000 items", name, a.Body)
	}
	assert.Eventually(t, "no session is left", func() bool {
		return !strings.Contains(string(s.Do(http.MethodGet, "/metrics", nil).Body), "pinion_stream_sessions{model=\"b\"} 1")
	})
}

// TestStreamsIn_ItemsOfCalls are of every kind that a call takes.
func TestStreamsIn_ItemsOfCalls(t *testing.T) {
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		harness.NeedModule(t, python, "numpy")
		s, _ := callingModels(t, map[string]string{
			"a": `
import io, os, tempfile
import cog
import numpy as np

def items(how):
    if how == "bytes":
        yield from (b"\xff", bytearray(b"two"), b"x" * (17 << 20))
    elif how == "files":
        path = os.path.join(tempfile.gettempdir(), "of-a-call")
        open(path, "w").write("four")
        yield from (cog.Path(path), io.BytesIO(b"three"))
    elif how == "arrays":
        yield from (np.arange(3, dtype=np.float32), np.full((2, 2), np.nan, np.float32))
    elif how == "dicts":
        yield from ({"x": 1}, {"x": float("nan")})
    elif how == "breaks":
        yield b"one"
        raise LookupError("no more")

def run(how: str, model: str = "", name: str = "items") -> str:
    if how == "two":
        return cog.call("bytes", items=iter([b""]), text=iter([""]))
    return cog.call(model or how, **{name: items(how)})
`,
			"bytes":  takes("bytes", "len(item)"),
			"files":  takes("cog.Path", "len(item.read_bytes())"),
			"arrays": takes("NDArray[np.float32]", `f"{item.shape} {item.sum()}"`),
			"dicts":  takes("dict", "item"),
			"texts":  takes("str", "item"),
			"plain":  "def run(items: list) -> str:\n    return str(items)\n",
		}, nil, harness.Options{Python: python.Path})
		ask := func(in harness.Input) harness.Answer {
			return s.Do(http.MethodPost, "/models/a/predictions", map[string]any{"input": in})
		}
		for how, want := range map[string]string{
			"bytes": "1 3 17825792", "files": "4 5", "arrays": "(3,) 3.0 (2, 2) nan", "dicts": "{'x': 1} {'x': nan}",
		} {
			harness.WantOutput(t, how, ask(harness.Input{"how": how}), want)
		}
		for says, in := range map[string]harness.Input{
			"LookupError: no more":              {"how": "breaks", "model": "bytes"},
			"only one input can be an iterator": {"how": "two"},
			"no streamed input":                 {"how": "bytes", "model": "plain"},
			"the streamed input is items":       {"how": "bytes", "name": "text"},
			"takes no binary items":             {"how": "bytes", "model": "dicts"},
			"items/0":                           {"how": "dicts", "model": "arrays"},
			"for an input that takes no file":   {"how": "files", "model": "texts"},
		} {
			harness.WantFailed(t, says, ask(in), says)
		}
	})
}

// takes returns a model that shows each item of a type.
func takes(kind, shows string) string {
	return `
from collections.abc import Iterator
import cog
import numpy as np
from numpy.typing import NDArray

def run(items: Iterator[` + kind + `], text: str = "") -> str:
    return " ".join(str(` + shows + `) for item in items)
`
}
