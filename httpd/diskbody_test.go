package httpd

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// TestDiskbody_LargeBodiesGoToDiskWithoutRoom, sized, chunked and compressed; a disk that is full is a refusal that
// says so, and a server without a disk refuses as before.
func TestDiskbody_LargeBodiesGoToDiskWithoutRoom(t *testing.T) {
	text := strings.Repeat("x", 20*mib)
	object := `{"input":{"s":"` + text + `"}}`
	chunked := fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(object), object)
	squeezed := squeeze("gzip", object)
	for what, rest := range map[string]string{
		"sized":   fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(object), object),
		"chunked": chunked,
		"gzip":    fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(squeezed), squeezed),
	} {
		t.Run(what, func(t *testing.T) {
			f, b := newFake(), memory.New(16*mib)
			var full error
			spool := func(int64) (*os.File, error) {
				if full != nil {
					return nil, full
				}
				return os.CreateTemp(t.TempDir(), "")
			}
			site := serve(t, f, Options{Memory: b, Spool: spool})
			request := "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + rest
			conn := site.dial(t)
			conn.send(request)
			conn.want(200)
			req := f.request()
			if req.Disk == nil || req.Body != nil || req.Charged != 0 || b.Stats().Used != 0 {
				t.Errorf("got on disk %t, in memory %d bytes, charged %d, used %d, want all of it on disk", req.Disk != nil,
					len(req.Body), req.Charged, b.Stats().Used)
			}
			assert.Equal(t, "the input", string(req.Input), `{"s":"`+text+`"}`)
			req.Disk.Unmap(false)
			assert.Equal(t, "mappings of the file", req.Input[100], 0)
			f.refusal = &predict.ValidationError{}
			conn.send(request)
			conn.want(http.StatusUnprocessableEntity)
			if body := f.request().Disk.(*memory.Mapping); body.Data != nil {
				t.Errorf("a refused body is still mapped: got %.300q, want nil", body.Data)
			}
			full = errors.New("the disk has no room")
			conn = site.dial(t)
			go func() { _, _ = io.WriteString(conn, request) }() // the server reads no more of it than it has to
			answer, body := conn.want(http.StatusServiceUnavailable)
			assert.Equal(t, `answer.Header.Get("Retry-After")`, answer.Header.Get("Retry-After"), "1")
			assert.Contains(t, "body", body, "--memory-budget")
			assert.Contains(t, "body", body, "the disk has no room")
			assert.Equal(t, "bytes left", b.Stats().Used, 0)
		})
	}
}
