package api

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const streamPath = "/predictions/stream"

// talk opens a session with its first message.
func talk(t *testing.T, s *harness.Server, first string, headers ...string) *harness.WebSocket {
	t.Helper()
	ws := harness.OpenWebSocket(t, s, streamPath, headers...)
	assert.Equal(t, "the answer to the handshake", ws.Answer.StatusCode, http.StatusSwitchingProtocols)
	ws.Send(first)
	return ws
}

// TestWebSocket_Session: each item is answered while the session lasts, and its end is the prediction.
func TestWebSocket_Session(t *testing.T) {
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, class := range []string{"Words", "Threads", "Async"} {
			s := streamedServer(t, class, harness.Options{Python: python.Path})
			ws := talk(t, s, `{"input": {"loud": true}, "id": "talk"}`, "Sec-WebSocket-Protocol", "other, cog.stream.v1")
			assert.Equal(t, "the protocol", ws.Answer.Header.Get("Sec-WebSocket-Protocol"), "cog.stream.v1")
			for i, word := range []string{"a", "b", "c"} {
				ws.Send(`"` + word + `"`)
				m := ws.Wait("output")
				harness.EqualJSON(t, class+": output", m.Data, fmt.Sprintf(`{"chunk":%q,"index":%d}`, strings.ToUpper(word), i))
				assert.Equal(t, class+": id", m.ID, "talk")
			}
			ws.Send(` { "$end" : true } `)
			p := ws.WantEnd(class, "succeeded", 1000, "")
			harness.EqualJSON(t, class+": p.Output", p.Output, `["A","B","C"]`)
			for says, c := range map[string]struct {
				code  int
				items []string
			}{
				`words/1: 3 is not of type "string"`:                   {1007, []string{`"a"`, `3`}},
				`item 1: invalid JSON`:                                 {1007, []string{`"a"`, `{"b":`}},
				`words/4: there are more than 4 items`:                 {1008, []string{`"a"`, `"b"`, `"c"`, `"d"`, `"e"`}},
				`words/0: {"$end":1} is not of type "string"`:          {1007, []string{`{"$end":1}`}},
				`words/0: {"$end":true,"x":1} is not of type "string"`: {1007, []string{`{"$end":true,"x":1}`}},
				`words/0: "0123456789" is longer than 9 characters`:    {1007, []string{`"0123456789"`}},
				`words/0: this input takes no binary items: send JSON`: {1003, nil},
			} {
				ws := talk(t, s, `{"input": {}}`)
				ws.Send(c.items...)
				if c.items == nil {
					ws.SendBinary([]byte("a"))
				}
				p, closed := ws.End()
				assert.Equal(t, class+says, fmt.Sprint(p.Status, closed.Code), fmt.Sprint("failed", c.code))
				assert.Contains(t, class, p.Error, says)
				assert.Contains(t, class, closed.Reason, says)
			}
			a := s.Succeed(harness.Input{"words": []string{"list"}})
			harness.EqualJSON(t, class+" afterwards", a.Output, `["list"]`)
		}
	})
}

// TestWebSocket_Ends of a session: the model's, the client's, the worker's, the server's.
func TestWebSocket_Ends(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"Ends", "ThreadEnds", "AsyncEnds"} {
		s := streamedServer(t, class, harness.Options{Args: []string{"--queue", "8"}})
		marks := filepath.Join(s.Dir, "left")
		first := `{"input": {"how": "all", "marks": "` + marks + `"}}`
		talk(t, s, `{"input": {"how": "early"}}`).WantEnd("the model's", "succeeded", 1000, "")

		finally := func(what string) {
			assert.Eventually(t, "the model's finally has run: "+what, func() bool { return os.Remove(marks) == nil })
		}
		ws := talk(t, s, first)
		ws.Send(`"a"`)
		ws.Wait("output")
		ws.Raw(harness.Frame(harness.FinalFrame|harness.CloseFrame, []byte("\x03\xe9bye")))
		if first, payload := ws.Next(); first&15 == harness.CloseFrame {
			assert.Equal(t, "the echo of the close", string(payload), "\x03\xe9")
		}
		finally("the client says goodbye")

		ws = talk(t, s, first)
		ws.Send(`"a"`)
		ws.Wait("output")
		ws.Close()
		finally("the client is gone")

		ws = talk(t, s, first)
		ws.Send(`"a"`)
		ws.Wait("output")
		ws.Send(`{"$cancel":true}`)
		ws.WantEnd("a cancel in the session", "canceled", 1000, "")
		finally("canceled")
		ws = talk(t, s, `{"id": "waits", "input": {"how": "all"}}`)
		ws.Wait("start")
		harness.WantCode(t, "cancel", s.Cancel("waits"), http.StatusOK)
		ws.WantEnd("a cancel of another client", "canceled", 1000, "")

		ws = talk(t, s, `{"input": {"how": "all"}}`)
		ws.Send(`"a"`, `"die"`)
		p, closed := ws.End()
		assert.Equal(t, "a dead worker", fmt.Sprint(p.Status, closed.Code), "failed1011")
		assert.Contains(t, "a dead worker: the reason", closed.Reason, "exited with code 7")
		assert.True(t, len(closed.Reason) <= 123, "got a reason of %d bytes, want at most 123", len(closed.Reason))
	}
}

// TestWebSocket_Stops: a server that stops takes no session, and those that run have its grace.
func TestWebSocket_Stops(t *testing.T) {
	t.Parallel()
	s := streamedServer(t, "AsyncEnds", harness.Options{Args: []string{"--grace", "100ms"}})
	runs := talk(t, s, `{"input": {"how": "all"}}`)
	runs.Send(`"a"`)
	runs.Wait("output")
	silent := harness.OpenWebSocket(t, s, streamPath)
	s.Signal(15)
	silent.WantEnd("without a request", "failed", 1001, "The server stops")
	_, closed := runs.End()
	assert.Equal(t, "the code", closed.Code, 1001)
	s.Ended(0)
}

// TestWebSocket_NoSlot closes with 1013, and says when to come again.
func TestWebSocket_NoSlot(t *testing.T) {
	t.Parallel()
	s := streamedServer(t, "Ends", harness.Options{})
	holds := talk(t, s, `{"input": {"how": "all"}}`)
	holds.Wait("start")
	p, closed := talk(t, s, `{"id": "late", "input": {"how": "all"}}`).End()
	assert.Equal(t, "a session too many", fmt.Sprint(p.Status, closed.Code, p.ID), "failed1013late")
	assert.Contains(t, "the reason", closed.Reason, "try again in 1 s: At capacity")
	holds.Send(`{"$end":true}`)
	holds.WantEnd("the one before", "succeeded", 1000, "")

	queued := streamedServer(t, "Ends", harness.Options{Args: []string{"--queue", "1"}})
	holds = talk(t, queued, `{"input": {"how": "all"}}`)
	holds.Wait("start")
	waits := talk(t, queued, `{"id": "waits", "input": {"how": "all"}}`)
	waits.Send(`"early"`, `{"$end":true}`)
	assert.Eventually(t, "it waits", func() bool {
		return queued.Do(http.MethodGet, "/predictions/waits", nil).Code == http.StatusOK
	})
	_, closed = talk(t, queued, `{"input": {"how": "all"}}`).End()
	assert.Equal(t, "more than the queue holds", closed.Code, 1013)
	holds.Send(`{"$end":true}`)
	holds.WantEnd("the one before", "succeeded", 1000, "")
	harness.EqualJSON(t, "the output", waits.WantEnd("it waited", "succeeded", 1000, "").Output, `["early"]`)
}

// TestWebSocket_FirstMessage is the request.
func TestWebSocket_FirstMessage(t *testing.T) {
	t.Parallel()
	s := streamedServer(t, "Words", harness.Options{})
	for first, says := range map[string]string{
		`"a"`:                         `is not of type "object"`,
		`{"input": {"words": ["a"]}}`: `is not of type`,
		`{"input": {"loud": 3}}`:      `is not of type "boolean"`,
		`{"input": `:                  "invalid JSON",
	} {
		talk(t, s, first).WantEnd(first, "failed", 1007, says)
	}
	ws := harness.OpenWebSocket(t, s, streamPath)
	ws.SendBinary([]byte(`{"input": {}}`))
	ws.WantEnd("a binary request", "failed", 1003, "the first message is the request")
	other := harness.Ready(t, harness.Options{Model: "echo.py"})
	talk(t, other, `{"input": {}}`).WantEnd("no streamed input", "failed", 1007, "this model has no streamed input")
	ws = talk(t, s, `{"input": {}}`)
	ws.Send(`{"$end":true}`, `"b"`)
	_, closed := ws.End()
	assert.Equal(t, "an item after the end", fmt.Sprint(closed.Code, closed.Reason), `1008an item came after {"$end": true}`)
}

// TestWebSocket_IsAsEver a prediction of that id where no WebSocket is asked for.
func TestWebSocket_IsAsEver(t *testing.T) {
	t.Parallel()
	s := streamedServer(t, "Words", harness.Options{})
	harness.WantCode(t, "no prediction", s.Do(http.MethodGet, streamPath, nil), http.StatusNotFound)
	harness.WantCode(t, "another upgrade", s.Do(http.MethodGet, streamPath, nil, "Connection", "Upgrade", "Upgrade", "h2c"),
		http.StatusNotFound)
	ws := harness.OpenWebSocket(t, s, "/predictions/other")
	harness.WantCode(t, "another id", ws.Refused(), http.StatusNotFound)
	ws = harness.OpenWebSocket(t, s, "/trainings/stream")
	harness.WantCode(t, "a training", ws.Refused(), http.StatusNotFound)
	harness.WantCode(t, "PUT", s.Do(http.MethodPut, streamPath, `{"input": {"words": []}}`, "Content-Type", "application/json"),
		http.StatusOK)
	ws = harness.OpenWebSocket(t, s, streamPath, "Sec-WebSocket-Key", "short")
	assert.Equal(t, "the code", ws.Answer.StatusCode, http.StatusSwitchingProtocols) // the first one counts
}

// TestWebSocket_WhoMayAsk: tokens and pages of other origins are checked before the upgrade.
func TestWebSocket_WhoMayAsk(t *testing.T) {
	t.Parallel()
	tokens := harness.TokenFile(t, "s3cret-Token~")
	s := streamedServer(t, "Words", harness.Options{
		Args: []string{"--auth-token-file", tokens, "--cors-origin", "https://a.example"},
	})
	encoded := base64.RawURLEncoding.EncodeToString([]byte("s3cret-Token~"))
	for name, c := range map[string]struct {
		code    int
		headers []string
	}{
		"none":             {401, nil},
		"wrong":            {401, []string{"Authorization", "Bearer wrong"}},
		"right":            {101, []string{"Authorization", "Bearer s3cret-Token~"}},
		"offered":          {101, []string{"Sec-WebSocket-Protocol", "cog.stream.v1, bearer." + encoded}},
		"offered, padded":  {101, []string{"Sec-WebSocket-Protocol", "bearer." + encoded + "="}},
		"offered, wrong":   {401, []string{"Sec-WebSocket-Protocol", "bearer.d3Jvbmc"}},
		"offered, invalid": {401, []string{"Sec-WebSocket-Protocol", "bearer.$"}},
		"another page":     {403, []string{"Origin", "https://evil.example", "Sec-WebSocket-Protocol", "bearer." + encoded}},
		"an allowed page":  {101, []string{"Origin", "https://a.example", "Sec-WebSocket-Protocol", "bearer." + encoded}},
		"an own page":      {101, []string{"Origin", s.Address, "Sec-WebSocket-Protocol", "bearer." + encoded}},
	} {
		ws := harness.OpenWebSocket(t, s, streamPath, c.headers...)
		assert.Equal(t, name, ws.Answer.StatusCode, c.code)
		said := ws.Answer.Header.Get("Sec-WebSocket-Protocol")
		assert.False(t, strings.Contains(said, "bearer"), "%s: got the protocol %q, want no token in it", name, said)
		if c.code == 101 {
			ws.Send(`{"input": {}}`, `{"$end": true}`)
			ws.WantEnd(name, "succeeded", 1000, "")
		}
	}
}

// TestWebSocket_Binary: items of bytes go both ways as they are.
func TestWebSocket_Binary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "run.py"), yieldingBytes)
	for _, class := range []string{"Echo", "Threads", "Async"} {
		s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:" + class})
		ws := talk(t, s, `{"input": {}}`)
		for _, size := range []int{0, 1, 125, 126, 512, 513, 8 << 10, 1<<16 + 1, 3 << 20} {
			item := strings.Repeat("xy", size)[:size]
			ws.SendBinary([]byte(item))
			got := ws.Wait("binary").Binary
			assert.TrueNow(t, len(got) == size && strings.Trim(string(got), "xy") == "", "got %d bytes, want %d", len(got), size)
		}
		ws.Send(`"aGk="`)
		assert.Equal(t, "base64 as text", string(ws.Wait("binary").Binary), "ih")
		ws.Send(`{"$end":true}`)
		ws.WantEnd(class, "succeeded", 1000, "")
	}
}
