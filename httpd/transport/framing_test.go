package transport

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pinion/runtime/trace"
	"pinion/tests/assert"
)

// TestFraming_UnclearIsRefused: what a proxy might divide into other requests is 400, alone and behind another request,
// and ends the connection. A byte after it is never answered.
func TestFraming_UnclearIsRefused(t *testing.T) {
	s := serve(t, Options{})
	const head, chunked = "POST /predictions HTTP/1.1\r\nHost: x\r\n", "POST /predictions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
	const good = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, c := range []struct {
		raw    string
		reason FramingError
	}{
		{head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", errBothLengths},
		{head + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", errBothLengths},
		{head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", errLengths},
		{head + "Content-Length: 2, 2\r\n\r\n{}", errLength},
		{head + "Content-Length: +2\r\n\r\n{}", errLength},
		{head + "Content-Length: -1\r\n\r\n{}", errLength},
		{head + "Content-Length: 0x2\r\n\r\n{}", errLength},
		{head + "Content-Length:\r\n\r\n", errLength},
		{head + "Content-Length: 99999999999999999999\r\n\r\n", errLength},
		{head + "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}", errCoding},
		{head + "Transfer-Encoding: identity\r\n\r\n", errCoding},
		{head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", errCoding},
		{head + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", errCoding},
		{head + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", errCoding},
		{head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", errCodings},
		{"POST /predictions HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", errOldCoding},
		{"GET /livez HTTP/2.0\r\nHost: x\r\n\r\n", errVersion},
		{"GET /livez HTTP/1.2\r\nHost: x\r\n\r\n", errVersion},
		{"GET /livez HTTP/0.9\r\n\r\n", errVersion},
		{"GET /livez\r\n\r\n", errVersion},
		{"GET /livez http/1.1\r\nHost: x\r\n\r\n", errVersion},
		{"GET /livez HTTP/1.1 \r\nHost: x\r\n\r\n", errVersion},
		{"GET /livez HTTP/1.1\nHost: x\r\n\r\n", errBareLF},
		{"GET /livez HTTP/1.1\r\nHost: x\n\r\n", errBareLF},
		{"GET /livez HTTP/1.1\r\nHost: x\r\n\n", errBareLF},
		{"GET /livez HTTP/1.1\r\nHost: x\r\nA: b\rC: d\r\n\r\n", errBareCR},
		{"GET /livez HTTP/1.1\r\nHost: x\r\nA: b\r\r\n\r\n", errBareCR},
		{"GET /livez HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", errFolded},
		{"GET /livez HTTP/1.1\r\n Host: x\r\n\r\n", errFolded},
		{"GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length : 0\r\n\r\n", errHeaderName},
		{"GET /livez HTTP/1.1\r\nHost: x\r\nA B: c\r\n\r\n", errHeaderName},
		{"GET /livez HTTP/1.1\r\nHost: x\r\n: c\r\n\r\n", errHeaderName},
		{"GET /livez HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", errHeaderName},
		{"GET /livez HTTP/1.1\r\nHost: x\r\nA\x00: c\r\n\r\n", ""}, // fasthttp refuses it
		{"GET /livez HTTP/1.1\r\nHost: x\r\nA(: c\r\n\r\n", ""},
		{"GET /livez HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", ""},
		{chunked + "2;" + strings.Repeat("e", maxChunkLine) + "\r\n{}\r\n0\r\n\r\n", errChunkLine},
		{chunked + "2;" + strings.Repeat("e", 2*maxChunkLine), errChunkLine},
		{chunked + "2\n{}\r\n0\r\n\r\n", errBareLF},
		{chunked + "2 \r\n{}\r\n0\r\n\r\n", errChunkSize},
		{chunked + "0x2\r\n{}\r\n0\r\n\r\n", errChunkSize},
		{chunked + "ffffffffffffffffff\r\n", errChunkSize},
		{chunked + "2\r\n{}0\r\n\r\n", errChunkEnd},
		{chunked + "2\r\n{}\n0\r\n\r\n", errBareLF},
		{chunked + "2\r\n{}\r\n0\r\nA: b\n\r\n", errBareLF},
		{chunked + "2\r\n{}\r\n0\r\n\n", errBareLF},
		{chunked + "2\r\n{}\r\n0\r\n A: b\r\n\r\n", errFolded},
	} {
		for _, before := range []string{"", good} {
			client := s.dial(t)
			client.send(before + c.raw + good)
			if before != "" {
				client.want(200)
			}
			resp, body := client.answer()
			assert.TrueNow(t, resp.StatusCode == 400, "%q: got %d %s, want 400", before+c.raw, resp.StatusCode, body)
			assert.True(t, strings.Contains(body, string(c.reason)), "%q: %s, want %q", before+c.raw, body, c.reason)
			client.ended()
		}
	}
}

// ends returns where the requests in raw end that framing takes, when it gets them in pieces of that size.
func ends(raw []byte, piece int) (at []int, err FramingError) {
	var f framing
	for i := 0; i < len(raw) && f.err == "" && f.stage != atEnd; i++ {
		if f.follow(raw[i : i+1]); f.err == "" && (f.stage == atStart || f.stage == atEnd) && f.heads > uint64(len(at)) {
			at = append(at, i+1)
		}
	}
	err = f.err
	var g framing
	for rest := raw; len(rest) > 0 && g.err == "" && g.stage != atEnd; {
		n := min(piece, len(rest))
		g.follow(rest[:n])
		rest = rest[n:]
	}
	if g.err != err || err == "" &&
		(g.heads != f.heads || g.lastAt != f.lastAt || g.stage != f.stage || g.left != f.left) {
		panic("it depends on how the bytes come")
	}
	return at, err
}

// reader counts what was taken of raw.
type reader struct {
	from *bytes.Reader
	br   *bufio.Reader
}

func newReader(raw []byte) *reader {
	from := bytes.NewReader(raw)
	return &reader{from, bufio.NewReaderSize(from, ReadBuffer)}
}

func (r *reader) left() int { return r.from.Len() + r.br.Buffered() }

// byFasthttp and byNetHTTP read one request; false means they refuse it.
func (r *reader) byFasthttp() bool {
	var req fasthttp.Request
	return req.Header.Read(r.br) == nil && req.ContinueReadBody(r.br, 1<<20, false) == nil
}

func (r *reader) byNetHTTP() bool {
	req, err := http.ReadRequest(r.br)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

// FuzzFraming: what framing passes, fasthttp and net/http divide into the same requests, or refuse; and its result is
// the same for any split of the bytes.
func FuzzFraming(f *testing.F) {
	for _, seed := range []string{
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2;a\r\n{}\r\n0\r\nA: b\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: te, close\r\n\r\nabcdeGET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"\r\nGET http://x/ HTTP/1.0\r\n\r\nPUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET / HTTP/1.1\nHost: x\n\n", "HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
	} {
		f.Add([]byte(seed), 7)
	}
	f.Fuzz(func(t *testing.T, raw []byte, piece int) {
		at, _ := ends(raw, max(1, min(piece, 1<<16)))
		for name, read := range map[string]func(*reader) bool{
			"fasthttp": (*reader).byFasthttp,
			"net/http": (*reader).byNetHTTP,
		} {
			r := newReader(raw)
			for i, end := range at {
				if !read(r) {
					break
				}
				got := len(raw) - r.left()
				assert.TrueNow(t, got == end, "request %d of %q ends at byte %d, and for %s at %d, want the same", i, raw, end, name, got)
			}
		}
	})
}

// BenchmarkFraming measures what following one request costs.
func BenchmarkFraming(b *testing.B) {
	raw := []byte("POST /predictions HTTP/1.1\r\nHost: 127.0.0.1:5000\r\nUser-Agent: curl/8.0\r\nAccept: */*\r\n" +
		"Content-Type: application/json\r\nContent-Length: 23\r\n\r\n" + `{"input":{"text":"hi"}}`)
	var f framing
	b.ReportAllocs()
	for b.Loop() {
		assert.EqualNow(b, "address that is followed", f.follow(raw), len(raw))
		assert.EqualNow(b, "error", f.err, "")
	}
}

// TestFraming_SeenHeaders: a header whose bit is not set is not looked for, so each must be seen, however it is written
// and however its bytes come.
func TestFraming_SeenHeaders(t *testing.T) {
	for i := range new(trace.Propagation).Values() {
		name := trace.HeaderOf(i).Name
		got := seenBit([]byte(name)) & SeenMeta
		assert.False(t, got == 0 && name != trace.StateHeader, "%s is handed on: got no SeenMeta, want it", name)
	}
	for name, want := range map[string]SeenHeaders{
		"Origin": SeenOrigin, "Sec-Fetch-Site": SeenOrigin, "Referer": SeenOrigin,
		"X-Request-Id":    SeenRequestID | SeenMeta,
		"Accept":          SeenAccept,
		"Accept-Encoding": SeenAcceptEncoding, "Prefer": SeenPrefer, "Pinion-Deadline": SeenMeta, "Pinion-Priority": SeenMeta,
		"Traceparent":     SeenTraceParent | SeenMeta,
		"Accept-Language": 0, "Pragma": 0, "Tracestate": 0, "X-Request": 0, "Host": 0,
	} {
		for _, written := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
			head := []byte("GET / HTTP/1.1\r\n" + written + ": x\r\n\r\n")
			var whole, split framing
			whole.follow(head)
			for i := range head {
				split.follow(head[i : i+1])
			}
			assert.True(t, whole.err == "" && whole.seen == want && split.err == "" && split.seen == want,
				"%s: got %b and, byte by byte, %b (%q, %q), want %b", written, whole.seen, split.seen, whole.err, split.err, want)
		}
	}
}
