package files

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// packed returns text in one coding.
func packed(t *testing.T, coding, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "zlib":
		w = zlib.NewWriter(&out)
	case "deflate":
		raw := assert.Must(flate.NewWriter(&out, 6))(t)
		w = raw
	}
	_, err := io.WriteString(w, text)
	assert.NoError(t, err)
	assert.NoError(t, w.Close())
	return out.Bytes()
}

// TestCoding_ContentCodingIsUndone: an object that was stored in gzip reaches the model as what is inside of it, as
// with Cog.
func TestCoding_ContentCodingIsUndone(t *testing.T) {
	text := strings.Repeat("what the model is to read ", 1000)
	once := packed(t, "gzip", text)
	cases := map[string]struct {
		headers []string
		body    []byte
		want    string
	}{
		"/gzip":        {[]string{"gzip"}, once, text},
		"/x-gzip":      {[]string{"X-GZip"}, once, text},
		"/zlib":        {[]string{"deflate"}, packed(t, "zlib", text), text},
		"/bare":        {[]string{"deflate"}, packed(t, "deflate", text), text},
		"/two":         {[]string{"deflate, gzip"}, packed(t, "gzip", string(packed(t, "zlib", text))), text},
		"/two-headers": {[]string{"deflate", "gzip"}, packed(t, "gzip", string(packed(t, "zlib", text))), text},
		"/members":     {[]string{"gzip"}, append(packed(t, "gzip", "one "), packed(t, "gzip", "two")...), "one two"},
		"/identity":    {[]string{"identity"}, []byte("plain"), "plain"},
		"/none":        {[]string{""}, []byte("plain"), "plain"},
		"/empty":       {[]string{"gzip"}, nil, ""},
		"/unknown":     {[]string{"gzip, br"}, once, string(once)},
		"/file.gz":     {nil, once, string(once)},
	}
	routes := map[string]http.HandlerFunc{}
	for path, c := range cases {
		routes[path] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Encoding"] = c.headers
			_, _ = w.Write(c.body)
		}
	}
	server := serve(t, routes)
	s := newStore(t, Options{})
	for path, c := range cases {
		if _, contents := fetched(t, s, server.URL+path); contents[0] != c.want {
			t.Errorf("%s: %.40q… of %d bytes, want %.40q… of %d", path, contents[0], len(contents[0]), c.want, len(c.want))
		}
	}
}

func TestCoding_ContentCodingThatDoesNotFit(t *testing.T) {
	whole := packed(t, "gzip", strings.Repeat("x", 2000))
	broken := bytes.Clone(whole)
	broken[len(broken)-5] ^= 1 // of the checksum
	send := func(coding string, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", coding)
			_, _ = w.Write(body)
		}
	}
	server := serve(t, map[string]http.HandlerFunc{
		"/plain":    send("gzip", []byte("no gzip at all")),
		"/checksum": send("gzip", broken),
		"/half":     send("gzip", whole[:len(whole)/2]),
		"/deflate":  send("deflate", []byte{0xff, 0xff, 0xff}),
		"/many":     send("gzip,gzip,gzip,gzip,gzip", whole),
		"/bomb":     send("gzip", packed(t, "gzip", strings.Repeat("x", 100_000))),
	})
	s := newStore(t, Options{MaxFile: 5000})
	for path, want := range map[string]error{
		"/plain": ErrCoding, "/checksum": ErrCoding, "/half": ErrTruncated, "/deflate": ErrCoding, "/many": ErrCoding,
		"/bomb": ErrTooLarge,
	} {
		assert.ErrorIs(t, path, refused(t, s, server.URL+path), want)
	}
}
