package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// streamedModel takes items while it runs: words, whose number may be bounded, and bytes.
const streamedModel = `
import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Literal

import cog
from cog import Input

class Words(cog.BaseRunner):
    def run(self, words: Iterator[str] = Input(max_items=4, max_length=9), loud: bool = False) -> Iterator[str]:
        for word in words:
            yield word.upper() if loud else word

class Threads(Words):
    @cog.concurrent(max=4)
    def run(self, words: Iterator[str] = Input(max_items=4, max_length=9), loud: bool = False) -> Iterator[str]:
        yield from super().run(words, loud)

class Async(cog.BaseRunner):
    @cog.concurrent(max=4)
    async def run(
        self, words: AsyncIterator[str] = Input(max_items=4, max_length=9), loud: bool = False
    ) -> AsyncIterator[str]:
        async for word in words:
            yield word.upper() if loud else word

class Sizes(cog.BaseRunner):
    def run(self, audio: Iterator[bytes], text: str = "") -> str:
        return text + ",".join(f"{len(item)}:{item[:3].decode()}" for item in audio)
`

// streamedServer serves a class of streamedModel.
func streamedServer(t *testing.T, class string, o harness.Options) *harness.Server {
	t.Helper()
	o.Dir = t.TempDir()
	harness.WriteFile(t, filepath.Join(o.Dir, "run.py"), streamedModel)
	o.Model = "run.py:" + class
	return harness.Ready(t, o)
}

// TestStreamsIn_List: a list in an ordinary request is a streamed input, and is checked before the model runs.
func TestStreamsIn_List(t *testing.T) {
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, class := range []string{"Words", "Threads", "Async"} {
			s := streamedServer(t, class, harness.Options{Python: python.Path})
			a := s.Succeed(harness.Input{"words": []string{"a", "b"}, "loud": true})
			harness.EqualJSON(t, class, a.Output, `["A","B"]`)
			a = s.Succeed(harness.Input{"words": []string{}})
			harness.EqualJSON(t, class+" without items", a.Output, `[]`)
			for says, words := range map[string]any{
				`"words/3"],"msg":"3 is not of type`: []any{"a", "b", "c", 3},
				`is longer than 9 characters`:        []any{"a", "0123456789"},
				`has more than 4 items`:              []any{"a", "b", "c", "d", "e"},
				`is not of type \"array\"`:           "data:,words",
				`Field required`:                     nil,
			} {
				in := harness.Input{"words": words}
				if words == nil {
					delete(in, "words")
				}
				a := s.Input(in)
				harness.WantCode(t, class+": "+says, a, http.StatusUnprocessableEntity)
				assert.True(t, strings.Contains(string(a.Body), says), "%s: got %s, want it to contain %q", class, a.Body, says)
			}
		}
	})
}

// TestStreamsIn_Bytes come as base64 or data URLs, or as the URL of a file for all of them.
func TestStreamsIn_Bytes(t *testing.T) {
	t.Parallel()
	s := streamedServer(t, "Sizes", harness.Options{})
	large := base64.StdEncoding.EncodeToString([]byte("abc" + strings.Repeat("d", 64<<10)))
	for want, audio := range map[string]any{
		"2:hi,3:h i,0:":      []string{"aGk=", "data:text/plain,h%20i", ""},
		"65536:abc,3:ddd":    "data:application/octet-stream;base64," + large,
		"65539:abc,1:x,2:\\": []string{large, "eA==", "data:,%5C%5C"},
	} {
		if strings.HasSuffix(want, `\`) {
			want += `\`
		}
		harness.WantOutput(t, want[:8], s.Succeed(harness.Input{"audio": audio}), want)
	}
	form := new(bytes.Buffer)
	fields := multipart.NewWriter(form)
	for _, item := range []string{"one", "two"} {
		file, _ := fields.CreateFormFile("audio", item)
		_, _ = file.Write([]byte(item))
	}
	_ = fields.Close()
	a := s.Do(http.MethodPost, "/predictions", form.Bytes(), "Content-Type", fields.FormDataContentType())
	harness.WantOutput(t, "a form", a, "3:one,3:two")
	for i, item := range []string{"a", "aGk", "a===", "aG k", "é+/=", "data:nothing", "\x00/etc/passwd"} {
		a := s.Input(harness.Input{"audio": []string{"aGk=", item}})
		harness.WantCode(t, item, a, http.StatusUnprocessableEntity)
		want := `"audio/1"],"msg":"\"` + strings.TrimLeft(item, "\x00/")
		if item[0] == 0 {
			want = `is neither base64 nor a data URL`
		}
		assert.True(t, strings.Contains(string(a.Body), want), "%d: got %s, want it to contain %q", i, a.Body, want)
	}
	harness.EqualJSON(t, "the document", documentOf(t, s, "Input", "audio"), fmt.Sprintf(
		`{"title":"Audio","type":"array","items":{"type":"string","format":"byte"},"x-cog-stream":true,"x-order":%d}`, 0))
}

// documentOf returns a property of a component in a server's OpenAPI document.
func documentOf(t *testing.T, s *harness.Server, component, property string) []byte {
	t.Helper()
	var document struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]json.RawMessage }
		}
	}
	harness.FromJSON(t, s.Do(http.MethodGet, "/openapi.json", nil).Body, &document)
	return document.Components.Schemas[component].Properties[property]
}

// TestStreamsIn_Calls: a model gives another's streamed input as a list, a file or bytes.
func TestStreamsIn_Calls(t *testing.T) {
	t.Parallel()
	s, _ := callingModels(t, map[string]string{"a": `
import io
import cog

def run(how: str) -> str:
    items = {"list": [b"one", b"seven"], "file": io.BytesIO(b"x" * 70000), "wrong": ["?"]}[how]
    return cog.call("b", audio=items, text=how + " ")
`, "b": streamedModel[:strings.Index(streamedModel, "class Words")] + `
def run(audio: Iterator[bytes], text: str) -> str:
    return text + ",".join(str(len(item)) for item in audio)
`}, nil, harness.Options{})
	for how, want := range map[string]string{"list": "list 3,5", "file": "file 65536,4464"} {
		a := s.Do(http.MethodPost, "/models/a/predictions", map[string]any{"input": harness.Input{"how": how}})
		harness.WantOutput(t, how, a, want)
	}
	a := s.Do(http.MethodPost, "/models/a/predictions", map[string]any{"input": harness.Input{"how": "wrong"}})
	harness.WantFailed(t, "wrong", a, "audio/0")
}
