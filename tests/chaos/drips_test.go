package chaos

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
	"pinion/tests/rawgrpc"
)

const (
	// drippers is how many clients, or servers of files, send a little now and then.
	drippers = 60
	// dripPause lies between two drips, which have dripSize bytes: 5 kB/s.
	dripPause, dripSize = 200 * time.Millisecond, 1000
)

// part is a message of a gRPC call that is never completed.
type part struct {
	client *rawgrpc.Client
	call   uint32
}

func (p part) Write(data []byte) (int, error) {
	p.client.Data(p.call, data, false)
	return len(data), nil
}

// drip writes a little now and then, until the test ends or the server has cut it.
func drip(t *testing.T, to io.Writer) {
	data := bytes.Repeat([]byte(" "), dripSize)
	for t.Context().Err() == nil {
		if _, err := to.Write(data); err != nil {
			return
		}
		time.Sleep(dripPause)
	}
}

// dripServer returns the address of a server whose files come a byte a second.
func dripServer(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		for r.Context().Err() == nil && t.Context().Err() == nil {
			_, _ = w.Write([]byte("x")) // the context tells when it fails
			w.(http.Flusher).Flush()
			time.Sleep(time.Second)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// downloads lets predictions wait for files that drip.
func downloads(files string) func(*testing.T, *harness.Server) {
	return func(t *testing.T, s *harness.Server) {
		for i := range drippers {
			body := map[string]any{"id": fmt.Sprint("download", i), "input": map[string]any{"file": files}}
			a := s.Create(body, "Prefer", "respond-async")
			harness.WantCode(t, "a prediction with a file", a, http.StatusAccepted)
		}
	}
}

// endDownloads waits until the server has given up all downloads.
func endDownloads(t *testing.T, s *harness.Server) {
	for i := range drippers {
		a := harness.WaitStatus(t, s, fmt.Sprint("download", i), "failed")
		assert.Contains(t, "the error", a.Error, "too slow")
	}
}

// unread lets clients follow predictions of many outputs, and read nothing.
func unread(t *testing.T, s *harness.Server) {
	const body = `{"input":{"token":"unread","items":3000}}`
	for i, conn := range dialed(t, s, attackers, "") {
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		_, _ = fmt.Fprintf(conn, "PUT /predictions/unread%d HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"+ // or cut
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", i%4, len(body), body)
	}
}

// foreignPages sends what a page of another site can make browsers send.
func foreignPages(t *testing.T, s *harness.Server) {
	for _, path := range []string{
		"/models/b/openapi.json", "/models/b/docs", "/models/b", "/models/b/health-check", "/models/b/readyz",
		"/models/b/predictions/p", "/v1/models/b", "/v2/models/b", "/v2/models/b/ready", "/models", "/openapi.json",
	} {
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://evil.test"}} {
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions} {
				if a := s.Do(method, path, nil, append(headers, "Connection", "close")...); a.Err != nil {
					t.Errorf("%s %s: got %v, want no error", method, path, a.Err)
				}
			}
		}
	}
	for _, path := range []string{"/models/b/predictions", "/models/b/load", "/v2/models/b/infer", "/shutdown"} {
		a := s.Do(http.MethodPost, path, `{"input":{}}`, "Sec-Fetch-Site", "cross-site", "Connection", "close")
		harness.WantCode(t, "POST "+path, a, http.StatusForbidden)
	}
}

// staysUnloaded fails if one of the pages has loaded the model.
func staysUnloaded(t *testing.T, s *harness.Server) {
	a := s.Do(http.MethodGet, "/models/b", nil)
	assert.Contains(t, "the model that no one of this site asked for", string(a.Body), `"state":"unloaded"`)
}
