package httpd

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/valyala/fasthttp"

	"pinion/httpd/place"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/request"
	"pinion/tests/assert"
)

// FuzzBody reads bodies of every kind: what a service would get is always strict JSON except for
// placeholders of files that are there, and after an error no file is left.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		formText(`name="a"; filename="b"`, "x", `name="id"`, "y"),
		formText("name=\"input\"\r\nContent-Type: application/json", `{"a":1}`),
		formText(`name="webhook_events_filter"`, "start", `name="context"`, `{"a":"b"}`), "--BB\r\n\r\n--BB--", "--BB--",
		"\r\n--BB\r\nContent-Disposition: form-data; name=\"\x00\"; filename*=utf-8''%00\r\n\r\n\r\n--BB--\r\n",
		"\x81\xa5input\x81\xa1f\xc4\x03abc", "\xdf\xff\xff\xff\xff", `{"input":{"a":"\u0000"}}`,
	} {
		for kind := range byte(3) {
			f.Add(kind, []byte(seed))
		}
	}
	svc := newFake()
	s := New(always{svc}, Options{MaxBody: 1 << 16})
	k := s.front.Predictions(&s.root.placer)
	client, server := net.Pipe()
	f.Cleanup(func() { client.Close(); server.Close() })
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		ctx := new(fasthttp.RequestCtx)
		ctx.Init2(server, nil, false)
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.Header.SetContentType(
			[]string{"application/json", "application/msgpack", "multipart/form-data; boundary=BB"}[kind%3])
		if kind >= 3 {
			ctx.Request.Header.SetContentEncoding([]string{"gzip", "zstd"}[kind%2])
		}
		ctx.Request.SetBodyStream(bytes.NewReader(body), len(body))
		svc.attached = nil
		req := place.Request{}
		err := k.Read(ctx, &req)
		if err != nil {
			var syntax *rawjson.SyntaxError
			var invalid *predict.ValidationError
			var body *request.Error
			if !errors.As(err, &syntax) && !errors.As(err, &invalid) && !errors.As(err, &body) &&
				!errors.Is(err, request.ErrEmpty) && !errors.Is(err, fasthttp.ErrBodyTooLarge) {
				t.Fatalf("got the error %T: %v, want one that a client is told", err, err)
			}
		} else {
			files := 0
			strict := func(name string, value []byte) {
				files += predict.CountPlaceholders(value)
				err := rawjson.Check(predict.ShowPlaceholders(value))
				assert.TrueNow(t, err == nil, "%s is %q: got %v, want no error", name, value, err)
			}
			strict("input", req.Input)
			if req.Context != nil {
				strict("context", req.Context)
			}
			for _, field := range req.Form {
				if field.Form != predict.FieldText {
					strict(field.Name, field.Value)
				}
			}
			assert.TrueNow(t, files <= 0 || req.Attachments.Path(files-1) != "", "got no path of file %d, want one", files-1)
		}
		req.Discard()
		assert.EqualNow(t, fmt.Sprintf("a file is left after %v", err), svc.open(), 0)
	})
}
