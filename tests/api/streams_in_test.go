package api

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// streamedModel takes items while it runs: words, whose number may be bounded, and bytes.
const streamedModel = `
import os
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

class Ends(cog.BaseRunner):
    def run(self, words: Iterator[str], how: str, marks: str = "") -> Iterator[str]:
        try:
            if how == "early":
                yield "early"
                return
            for word in words:
                if word == "die":
                    os._exit(7)
                yield word
        finally:
            if marks:
                open(marks, "w").close()

class ThreadEnds(Ends):
    @cog.concurrent(max=2)
    def run(self, words: Iterator[str], how: str, marks: str = "") -> Iterator[str]:
        yield from super().run(words, how, marks)

class AsyncEnds(cog.BaseRunner):
    @cog.concurrent(max=2)
    async def run(self, words: AsyncIterator[str], how: str, marks: str = "") -> AsyncIterator[str]:
        try:
            if how == "early":
                yield "early"
                return
            async for word in words:
                if word == "die":
                    os._exit(7)
                yield word
        finally:
            if marks:
                open(marks, "w").close()

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

// session is a request whose items are sent while it is answered.
type session struct {
	t      *testing.T
	items  *io.PipeWriter
	answer *http.Response
	events *bufio.Scanner
}

// open begins a session with the first line of its body.
func open(t *testing.T, s *harness.Server, first string) *session {
	t.Helper()
	return openAt(t, s, "/predictions", first)
}

// openAt is open at a model's path.
func openAt(t *testing.T, s *harness.Server, path, first string) *session {
	t.Helper()
	body, items := io.Pipe()
	v := &session{t: t, items: items}
	answered := make(chan *http.Response)
	go func() {
		answered <- s.Open(t, http.MethodPost, path, body, "Content-Type", "application/x-ndjson", "Accept",
			"text/event-stream")
	}()
	v.send(first)
	v.answer = harness.Receive(t, answered)
	t.Cleanup(func() { v.answer.Body.Close() })
	v.events = bufio.NewScanner(v.answer.Body)
	return v
}

func (v *session) send(line string) {
	v.t.Helper()
	_, err := io.WriteString(v.items, line+"\n")
	assert.NoError(v.t, err, "send %s", line)
}

// next returns the data of the next event of that kind.
func (v *session) next(kind string) (data string) {
	v.t.Helper()
	for event := ""; v.events.Scan(); {
		name, value, _ := strings.Cut(v.events.Text(), ": ")
		switch {
		case name == "event":
			event = value
		case name == "data" && event == kind:
			return value
		case name == "data" && event == "completed":
			v.t.Fatalf("got the end %s, want an event %s", value, kind)
		}
	}
	v.t.Fatalf("got the end of the stream (%v), want an event %s", v.events.Err(), kind)
	return ""
}

// end returns the prediction at the end.
func (v *session) end() (p harness.Prediction) {
	v.t.Helper()
	harness.FromJSON(v.t, v.next("completed"), &p)
	return p
}

// TestStreamsIn_Body: the items come in the body while the model answers those before.
func TestStreamsIn_Body(t *testing.T) {
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, class := range []string{"Words", "Threads", "Async"} {
			s := streamedServer(t, class, harness.Options{Python: python.Path})
			for range 2 { // the slot is as before
				v := open(t, s, `{"input": {"loud": true}}`)
				for _, word := range []string{"a", "b", "c"} {
					v.send(`"` + word + `"`)
					assert.Contains(t, class, v.next("output"), strings.ToUpper(word))
				}
				assert.NoError(t, v.items.Close(), "end the body")
				p := v.end()
				assert.Equal(t, class+": p.Status", p.Status, "succeeded")
				harness.EqualJSON(t, class+": p.Output", p.Output, `["A","B","C"]`)
			}
			for says, items := range map[string][]string{
				`words/1: 3 is not of type \"string\"`:   {`"a"`, `3`},
				`there are more than 4 items`:            {`"a"`, `"b"`, `"c"`, `"d"`, `"e"`},
				`item 1: the item is invalid`:            {`"a"`, `{"b":`},
				`words/0: \"0123456789\" is longer than`: {`"0123456789"`},
			} {
				v := open(t, s, `{"input": {}}`)
				for _, item := range items {
					v.send(item)
				}
				p := v.end()
				assert.Equal(t, class+": p.Status", p.Status, "failed")
				assert.Contains(t, class+": p.Error", p.Error, strings.ReplaceAll(says, `\`, ""))
			}
			a := s.Succeed(harness.Input{"words": []string{"list"}})
			harness.EqualJSON(t, class+" afterwards", a.Output, `["list"]`)
		}
	})
}

// TestStreamsIn_Ends of a session: the model's, the client's, the worker's.
func TestStreamsIn_Ends(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"Ends", "ThreadEnds", "AsyncEnds"} {
		s := streamedServer(t, class, harness.Options{Args: []string{"--queue", "8"}})
		marks := filepath.Join(s.Dir, "left")
		v := open(t, s, `{"input": {"how": "early"}}`)
		assert.Equal(t, "early", v.end().Status, "succeeded")

		v = open(t, s, fmt.Sprintf(`{"input": {"how": "all", "marks": %q}}`, marks))
		v.send(`"a"`)
		v.next("output")
		_ = v.items.CloseWithError(io.ErrUnexpectedEOF)
		v.answer.Body.Close()
		assert.Eventually(t, "the model's finally has run", func() bool {
			_, err := os.Stat(marks)
			return err == nil
		})

		v = open(t, s, `{"id": "waits", "input": {"how": "all"}}`)
		v.send(`"a"`)
		v.next("output")
		harness.WantCode(t, "cancel", s.Cancel("waits"), http.StatusOK)
		assert.Equal(t, "a cancel while it waits", v.end().Status, "canceled")
		for _, want := range []string{
			"pinion_stream_sessions 0", `pinion_stream_items_total{direction="in"} 2`, `pinion_stream_bytes_total{direction="out"} 13`,
		} {
			assert.Eventually(t, want, func() bool {
				return strings.Contains(string(s.Do(http.MethodGet, "/metrics", nil).Body), want)
			})
		}

		v = open(t, s, `{"input": {"how": "all"}}`)
		v.send(`"a"`)
		v.next("output")
		v.send(`"die"`)
		p := v.end()
		assert.Equal(t, "a dead worker: p.Status", p.Status, "failed")
		assert.Contains(t, "a dead worker: p.Error", p.Error, "exited with code 7")
	}
}

// TestStreamsIn_Octets: the pieces of a body are items, and the other inputs are in the query.
func TestStreamsIn_Octets(t *testing.T) {
	t.Parallel()
	s := streamedServer(t, "Sizes", harness.Options{})
	large := "abc" + strings.Repeat("d", 1<<20)
	a := s.Do(http.MethodPost, "/predictions?text=sizes+", []byte(large), "Content-Type", "application/octet-stream")
	assert.Equal(t, a.String(), a.Status, "succeeded")
	sum := 0
	for _, item := range strings.Split(strings.TrimPrefix(a.Text(t), "sizes "), ",") {
		n := 0
		_, err := fmt.Sscanf(item, "%d:", &n)
		assert.NoError(t, err, "read %q", item)
		assert.True(t, n <= 64<<10, "got an item of %d bytes", n)
		sum += n
	}
	assert.Equal(t, "bytes", sum, len(large))
	for says, headers := range map[string][]string{
		"takes no Prefer":      {"Prefer", "respond-async"},
		"cannot be compressed": {"Content-Encoding", "gzip"},
		"invalid JSON":         {"Content-Type", "application/x-ndjson"},
		"is not of type":       {"Content-Type", "application/x-ndjson", "body", `{"input": {"audio": ["eA=="]}}`},
	} {
		body := []byte("x")
		if len(headers) == 4 {
			body, headers = []byte(headers[3]), headers[:2]
		}
		if headers[0] != "Content-Type" {
			headers = append(headers, "Content-Type", "application/octet-stream")
		}
		a := s.Do(http.MethodPost, "/predictions", body, headers...)
		assert.True(t, a.Code >= 400 && a.Code < 500, "%s: got %s", says, a)
		assert.Contains(t, says, string(a.Body), says)
	}
	other := harness.Ready(t, harness.Options{Model: "echo.py"})
	a = other.Do(http.MethodPost, "/predictions", []byte("x"), "Content-Type", "application/octet-stream")
	harness.WantAnswer(t, "no streamed input", a, http.StatusBadRequest, "this model has no streamed input")
}

// TestStreamsIn_Idle: a session whose client sends nothing ends.
func TestStreamsIn_Idle(t *testing.T) {
	t.Parallel()
	s := streamedServer(t, "Words", harness.Options{Args: []string{"--stream-idle-timeout", "50ms"}})
	v := open(t, s, `{"input": {}}`)
	p := v.end()
	assert.Equal(t, "p.Status", p.Status, "failed")
	assert.Contains(t, "p.Error", p.Error, "no item came for 50ms")
}

// TestStreamsIn_Backpressure: a model that takes no items holds its client back.
func TestStreamsIn_Backpressure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "run.py"), `
import os, time
from collections.abc import Iterator

def run(audio: Iterator[bytes], gate: str) -> int:
    while not os.path.exists(gate):
        time.sleep(0.01)
    return sum(len(item) for item in audio)
`)
	s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:run"})
	gate := filepath.Join(t.TempDir(), "gate")
	const total = 64 << 20 // more than all buffers of the sockets
	body := &counted{left: total}
	answer := make(chan harness.Answer)
	go func() {
		answer <- s.Do(http.MethodPost, "/predictions?gate="+gate, body, "Content-Type", "application/octet-stream")
	}()
	var before int64
	assert.Eventually(t, "the client waits", func() bool {
		now := body.sent.Load()
		waits := now > 0 && now == before && now < total
		before = now
		return waits
	})
	harness.WriteFile(t, gate, "")
	a := harness.Receive(t, answer)
	harness.EqualJSON(t, "the sum", a.Output, fmt.Sprint(total))
}

// TestStreamsIn_Joined: a PUT that joins a session as a stream ends with it, although its own items are not taken.
func TestStreamsIn_Joined(t *testing.T) {
	t.Parallel()
	s := streamedServer(t, "Ends", harness.Options{})
	v := open(t, s, `{"id": "joined", "input": {"how": "all"}}`)
	v.send(`"a"`)
	v.next("output")
	body := `{"input": {"how": "all"}}` + strings.Repeat("\n\"b\"", 200) // more than wait for a model
	joined := s.Open(t, http.MethodPut, "/predictions/joined", strings.NewReader(body), "Content-Type", "application/x-ndjson",
		"Accept", "text/event-stream")
	defer joined.Body.Close()
	assert.NoError(t, v.items.Close(), "end the body")
	harness.EqualJSON(t, "output", v.end().Output, `["a"]`)
	events := string(assert.Must(io.ReadAll(joined.Body))(t))
	assert.Contains(t, "the events of the joined one", events, "event: completed", `"output":["a"]`)
}

// TestStreamsIn_LargeItemIsCharged to the memory budget while it comes.
func TestStreamsIn_LargeItemIsCharged(t *testing.T) {
	t.Parallel()
	s := streamedServer(t, "Ends", harness.Options{Args: []string{"--memory-budget=64MiB"}})
	v := open(t, s, `{"input": {"how": "all"}}`)
	const size = 8 << 20
	part := `"` + strings.Repeat("x", size)
	_, err := io.WriteString(v.items, part)
	assert.NoError(t, err)
	inUse := func() float64 { return harness.Scrape(t, s).Value("pinion_memory_used_bytes") }
	assert.Eventually(t, "the part is charged", func() bool { return inUse() >= size })
	v.send(strings.Repeat("x", 80<<20) + `"`)
	p := v.end()
	assert.Equal(t, "p.Status", p.Status, "failed")
	assert.Contains(t, "p.Error", p.Error, "no memory for an item")
	assert.Eventually(t, "the charge has ended", func() bool { return inUse() < size })
}

// counted is a body of zeros that knows how much was read.
type counted struct {
	left int64
	sent atomic.Int64
}

func (b *counted) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), b.left)
	clear(p[:n])
	b.left -= n
	b.sent.Add(n)
	return int(n), nil
}
