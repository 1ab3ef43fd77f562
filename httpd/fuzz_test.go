package httpd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"pinion/httpd/negotiate"
	"pinion/tests/assert"
)

// FuzzRequest sends raw bytes and ends its side: each answer must be well-formed
// HTTP with a JSON body, and then the server must close. A unix socket stands in for TCP because an
// in-memory connection cannot be half closed, and the end of the input must reach the server.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		postRequest(`{"id":"a","input":{"s":"x"}}`),
		postRequest(`{`) + "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"POST /predictions/%00/cancel HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
		"POST /predictions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"POST /predictions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
		"POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n{}",
		"POST /predictions HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}}",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://[::1 HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\x00", "\r\n\r\n\r\n",
		ask("PUT", "/predictions/a%20b", asJSON, `{"id":"a b"}`), ask("PUT", "/predictions/%ff", asJSON, "{}"),
		ask("PUT", "/trainings/a", prefer(`a="b,c";d, Respond-Async`, "wait=0"), ""), ask("GET", "/predictions/a", "", ""),
		ask("POST", "/predictions", prefer(`wait="3"`), "") + ask("HEAD", "/trainings/a", "", ""),
		ask("POST", "/predictions", asStream, "{}") + ask("GET", "/readyz", "Origin: https://a\r\n", ""),
		"PUT /predictions/a HTTP/1.0\r\nAccept: x;y=\"z\", text/event-stream;q=0.5\r\nContent-Length: 0\r\n\r\n",
		"OPTIONS /trainings HTTP/1.1\r\nHost: x\r\nOrigin: null\r\nAccess-Control-Request-Method: PUT\r\n" +
			"Access-Control-Request-Headers: a, b\r\n\r\n",
		"POST /shutdown HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\nrest",
	} {
		f.Add([]byte(seed))
	}
	ln := assert.Must(net.Listen("unix", f.TempDir()+"/s"))(f)
	svc := newFake()
	svc.schema, svc.training, svc.runs = []byte(`{}`), true, yields(`"one"`, "2")
	serveOn(f, svc, Options{Shutdown: func() {}, MaxBody: 1 << 16, CORSOrigins: []string{"https://a", "null"}}, ln)
	f.Fuzz(func(t *testing.T, raw []byte) {
		nc := assert.Must(net.Dial("unix", ln.Addr().String()))(t)
		defer nc.Close()
		nc.SetDeadline(time.Now().Add(testTimeout))
		nc.Write(raw) // it may have closed already, for what came first
		nc.(*net.UnixConn).CloseWrite()
		got, err := io.ReadAll(nc)
		var ne net.Error
		assert.TrueNow(t, !errors.As(err, &ne) || !ne.Timeout(), "the server hangs: got %v, want no error of type net.Error", err)
		assert.NoError(t, err, "the answer was taken away")
		wellFormed(t, raw, got)
	})
}

// wellFormed reads got as the answers to raw.
func wellFormed(t *testing.T, raw, got []byte) {
	br := bufio.NewReader(bytes.NewReader(got))
	for {
		if _, err := br.Peek(1); err != nil {
			return
		}
		resp, err := http.ReadResponse(br, nil)
		assert.TrueNow(t, err == nil, "not an answer: got %v, want no error\nasked %q\ngot %q", err, raw, got)
		if resp.StatusCode < 200 {
			continue
		}
		if bytes.Contains(raw, []byte("HEAD")) {
			return // an answer to HEAD looks like one that is cut short
		}
		body, err := io.ReadAll(resp.Body)
		if resp.StatusCode == http.StatusOK && resp.Header.Get("Content-Type") == negotiate.TypeEventStream {
			// One that is cut short is cut between two events: the client has closed its side.
			assert.TrueNow(t, bytes.HasPrefix(body, []byte("event: ")) && bytes.HasSuffix(body, []byte("\n\n")),
				"not a stream: got %.300q, want it starting with \"event: \" and ending in %q\nasked %q\ngot %q", body, "\n\n", raw, got)
			continue
		}
		if err != nil || resp.ContentLength != int64(len(body)) {
			t.Fatalf("a body of %d bytes, Content-Length %d: %v, want %d\nasked %q\ngot %q", len(body), resp.ContentLength, err,
				int64(len(body)), raw, got)
		}
		if resp.StatusCode == http.StatusNoContent {
			continue
		}
		assert.TrueNow(t, json.Valid(body) && strings.HasPrefix(resp.Header.Get("Content-Type"), negotiate.TypeJSON),
			"got %q, want JSON\nasked %q\ngot %q", body, raw, got)
	}
}
