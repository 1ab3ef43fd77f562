package httpd

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"pinion/httpd/negotiate"
	"pinion/tests/assert"
)

// streamEvent is one event as a client of a stream gets it.
type streamEvent struct {
	name, data string // name "" is a comment
}

// follower reads the events of one stream.
type follower struct {
	t  testing.TB
	br *bufio.Reader
}

// follow reads the head of a stream's answer.
func (c *client) follow() *follower {
	c.t.Helper()
	resp, err := http.ReadResponse(c.br, nil)
	assert.NoError(c.t, err, "read the head of a stream")
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != negotiate.TypeEventStream {
		body, _ := io.ReadAll(resp.Body)
		c.t.Fatalf("no stream: %s %v %s, want StatusCode 200 and Content-Type text/event-stream", resp.Status, resp.Header,
			body)
	}
	return &follower{c.t, bufio.NewReader(resp.Body)}
}

// next reads one event; false at the stream's end.
func (f *follower) next() (streamEvent, bool) {
	f.t.Helper()
	var e streamEvent
	for {
		line, err := f.br.ReadString('\n')
		if err == io.EOF && line == "" && e == (streamEvent{}) {
			return e, false
		}
		assert.TrueNow(f.t, err == nil, "the stream breaks off in %q: got %v, want no error", line, err)
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "":
			return e, true
		case strings.HasPrefix(line, "event: "):
			e.name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			e.data = line[len("data: "):]
		case strings.HasPrefix(line, ":"):
			e.data = line
		default:
			f.t.Fatalf("got the line %q, want a line of a stream", line)
		}
	}
}

// want reads one event and compares it.
func (f *follower) want(name, data string) {
	f.t.Helper()
	e, ok := f.next()
	assert.TrueNow(f.t, ok && e.name == name && (data == "" || e.data == data),
		"got %q %.200q (%v), want %q %q", e.name, e.data, ok, name, data)
}

// rest reads all that is left.
func (f *follower) rest() (events []streamEvent) {
	f.t.Helper()
	for {
		e, ok := f.next()
		if !ok {
			return events
		}
		events = append(events, e)
	}
}

func streamRequest(id string) string { return ask("POST", "/predictions", asStream, `{"id":"`+id+`"}`) }
