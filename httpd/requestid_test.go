package httpd

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"pinion/runtime/predict"
	"pinion/runtime/trace"
	"pinion/tests/assert"
)

// lockedBuffer is a log that is read while others write it.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// TestRequestID_IsEchoed: they are in every answer, in the request that the service gets, and in the access log.
func TestRequestID_IsEchoed(t *testing.T) {
	var log lockedBuffer
	f := newFake()
	s := serve(t, f, Options{
		Logger: slog.New(slog.NewJSONHandler(&log, nil)), AccessLines: 1000, MaxBody: 100,
		CORSOrigins: []string{"https://a.example"},
	})
	client := s.dial(t)
	for _, c := range []struct {
		method, path, headers, body string
		code                        int
	}{
		{"GET", "/", "", "", 200},
		{"POST", "/predictions", "", "{}", 200},
		{"POST", "/predictions", asStream, "{}", 200},
		{"POST", "/predictions", "", "{", 400},
		{"GET", "/nothing", "", "", 404},
		{"POST", "/predictions", "Origin: https://evil.example\r\n", "{}", 403},
		{"OPTIONS", "/predictions", "Origin: https://a.example\r\nAccess-Control-Request-Method: POST\r\n", "", 204},
		{"POST", "/predictions", "", strings.Repeat(" ", 101), 413},
	} {
		if c.code == 413 {
			client = s.dial(t)
		}
		client.send(ask(c.method, c.path, "X-Request-ID: the id\r\n"+c.headers, c.body))
		resp, _ := client.want(c.code)
		assert.Equal(t, fmt.Sprintf("%+v: comes back", c), resp.Header.Get("X-Request-Id"), "the id")
	}
	assert.Equal(t, "the service", f.request().RequestID, "the id")
	for _, unusable := range []string{"", strings.Repeat("x", trace.MaxRequestID+1), "a\tb", "\xc3\xbc"} {
		client := s.dial(t)
		client.send(ask("GET", "/", "X-Request-Id: "+unusable+"\r\n", ""))
		resp, _ := client.want(200)
		assert.True(t, resp.Header.Get("X-Request-Id") == "", "the answer has the id %q of its request", unusable)
	}
	if got := strings.Count(log.String(), `"request_id":"the id"`); got != 8 {
		t.Errorf("%d lines of the log name it, want 8:\n%s", got, log.String())
	}
}

// TestWarning_Header: each is a header, of a refusal too.
func TestWarning_Header(t *testing.T) {
	f := newFake()
	f.refusal = &predict.ValidationError{Warnings: []string{"one", "two"}}
	client := serve(t, f, Options{}).dial(t)
	client.post("{}")
	resp, _ := client.want(422)
	got := resp.Header.Values("Pinion-Warning")
	assert.True(t, len(got) == 2 && got[0] == "one" && got[1] == "two", "got warnings %q, want one and two", got)
}
