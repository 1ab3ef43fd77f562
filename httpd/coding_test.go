package httpd

import (
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"pinion/httpd/answers"
	"pinion/tests/assert"
)

func TestCoding_AnswersAreCompressed(t *testing.T) {
	long := `"` + strings.Repeat("hello, ", 200) + `"`
	big := `"` + strings.Repeat("hello, ", 100_000) + `"`
	for _, c := range []struct{ accept, output, want string }{
		{"", long, ""},
		{"gzip", `"short"`, ""},
		{"gzip", long, "gzip"},
		{"zstd", long, "zstd"},
		{"gzip, zstd, br", long, "zstd"},
		{"gzip;q=1, zstd;q=0.5", long, "gzip"},
		{"gzip;q=0, zstd;q=0", long, ""},
		{"br, deflate", long, ""},
		{"*", long, "gzip"},
		{"*;q=0.5, zstd", long, "zstd"},
		{"gzip;q=0, *", long, ""},
		{"identity", long, ""},
		{"x-gzip", long, "gzip"},
		{"gzip", big, "gzip"},
		{"zstd", big, "zstd"},
		{"", big, ""},
	} {
		f := newFake()
		f.result.Output = []byte(c.output)
		conn := serve(t, f, Options{}).dial(t)
		headers := ""
		if c.accept != "" {
			headers = "Accept-Encoding: " + c.accept + "\r\n"
		}
		for range 2 {
			conn.send(bodyRequest(headers, ""))
			resp, body := conn.want(200)
			assert.Equal(t, c.accept, resp.Header.Get("Content-Encoding"), c.want)
			vary := resp.Header.Get("Vary")
			assert.True(t, (vary == "Accept-Encoding") == (c.accept != "" && len(c.output) > answers.MinCompressed),
				"%q, an output of %d bytes: got Vary %q, want it only if the answer may be compressed", c.accept, len(c.output), vary)
			if plain := inflated(t, c.want, body); !strings.Contains(plain, c.output) ||
				c.want != "" && len(body) > len(plain)/4 {
				t.Errorf("%q: %d bytes for %d, want plain with %q and len(body) at most %d bytes", c.accept, len(body), len(plain),
					c.output, len(plain)/4)
			}
			wait(t, f.released, "the release")
		}
	}
}

func inflated(t *testing.T, coding, body string) string {
	t.Helper()
	var r io.Reader = strings.NewReader(body)
	var err error
	switch coding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	}
	assert.NoError(t, err)
	text := assert.Must(io.ReadAll(r))(t)
	return string(text)
}

func TestCoding_StreamsAreNeverCompressed(t *testing.T) {
	f := newFake()
	f.runs = yields(`"`+strings.Repeat("a", 5000)+`"`, "2")
	c := serve(t, f, Options{}).dial(t)
	c.send(ask("POST", "/predictions", asStream+"Accept-Encoding: gzip, zstd\r\n", "{}"))
	resp, body := c.want(200)
	assert.True(t, resp.Header.Get("Content-Encoding") == "" && strings.HasPrefix(body, "event: start"),
		`%v %.40s, want Content-Encoding empty and body starting with "event: start"`, resp.Header, body)
}

func TestCoding_OldClientsGetBigAnswersPlain(t *testing.T) {
	f := newFake()
	f.result.Output = []byte(`"` + strings.Repeat("hello, ", 100_000) + `"`)
	c := serve(t, f, Options{}).dial(t)
	c.send("POST /predictions HTTP/1.0\r\nAccept-Encoding: gzip\r\nContent-Length: 0\r\n\r\n")
	resp, body := c.want(200)
	assert.Equal(t, `resp.Header.Get("Content-Encoding")`, resp.Header.Get("Content-Encoding"), "")
	assert.Equal(t, "length of the body", int64(len(body)), resp.ContentLength)
}
