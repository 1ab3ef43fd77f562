package httpd

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"pinion/httpd/answers"
	"pinion/httpd/negotiate"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/request"
	"pinion/tests/assert"
)

const mib = 1 << 20

// TestBodymemory_BodiesAreCharged in every form, for as long as they are held, and refused where there is no room: at
// once where their length is not known, for good where they could never fit. The charge is freed after any outcome.
func TestBodymemory_BodiesAreCharged(t *testing.T) {
	text := strings.Repeat("x", 3*mib)
	object := `{"input":{"s":"` + text + `"}}`
	packed := "\x81\xa5input\x81\xa1s\xdb\x00\x30\x00\x00" + text
	chunked := func(body string) string {
		return fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	}
	sized := func(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }
	const inJSON = "Content-Type: application/json\r\n"
	for what, c := range map[string]struct {
		rest  string
		known bool // its length is: it may wait
	}{
		"plain":   {inJSON + sized(object), true},
		"chunked": {inJSON + chunked(object), false},
		"gzip":    {inJSON + "Content-Encoding: gzip\r\n" + sized(squeeze("gzip", object)), false},
		"zstd":    {inJSON + "Content-Encoding: zstd\r\n" + sized(squeeze("zstd", object)), false},
		"msgpack": {packType + sized(packed), false},
		"a form":  {formType + sized(formText(`name="s"`, text)), false},
	} {
		t.Run(what, func(t *testing.T) {
			b := memory.New(32 * mib)
			f := newFake()
			var during int64
			f.runs = func(*predict.Prediction) { during = b.Stats().Used }
			site := serve(t, f, Options{Memory: b})
			send := func() *client {
				conn := site.dial(t)
				// the server may not take it
				go func() { _, _ = io.WriteString(conn, "POST /predictions HTTP/1.1\r\nHost: x\r\n"+c.rest) }()
				return conn
			}
			send().want(200)
			assert.True(t, during >= 3*mib && during <= 12*mib, "%d bytes are charged while it runs, want %d to %d", during, 3*mib, 12*mib)
			b.Free(f.request().Charged) // the service does that
			assert.Equal(t, "bytes left", b.Stats().Used, 0)
			f.refusal = &predict.ValidationError{}
			send().want(422)
			assert.Equal(t, "bytes left after a refusal", b.Stats().Used, 0)
			f.refusal = nil
			assert.TrueNow(t, b.Take(27*mib, 27*mib), "no room")
			conn := send()
			if c.known || what == "zstd" { // which needs room before it is read
				assert.Eventually(t, "it waits", func() bool { return b.Waiting() == 1 })
				b.Free(27 * mib)
				conn.want(200)
				b.Free(f.request().Charged)
			} else {
				answer, body := conn.want(http.StatusServiceUnavailable)
				assert.Equal(t, `answer.Header.Get("Retry-After")`, answer.Header.Get("Retry-After"), "1")
				assert.Equal(t, "Retry-After", answer.Header.Get(answers.HeaderRetry), answers.Elsewhere)
				assert.Contains(t, "body", body, "--memory-budget")
				b.Free(27 * mib)
			}
			assert.Equal(t, "bytes left at the end", b.Stats().Used, 0)
		})
	}
	site := serve(t, newFake(), Options{Memory: memory.New(16 * mib)})
	conn := site.dial(t)
	conn.send("POST /predictions HTTP/1.1\r\nHost: x\r\n" + inJSON +
		fmt.Sprintf("Content-Length: %d\r\n\r\n%s", 15*mib, text[:16<<10]))
	// Another server may have a larger budget.
	if answer, body := conn.want(http.StatusServiceUnavailable); answer.Header.Get("Retry-After") != "1" ||
		answer.Header.Get(answers.HeaderRetry) != answers.Elsewhere ||
		!strings.Contains(body, "larger than the server's memory budget allows, which is 16 MiB (--memory-budget)") {
		t.Errorf("got %v %s, want Retry-After 1, %s %s and the reason", answer.Header, body, answers.HeaderRetry, answers.Elsewhere)
	}
}

// TestBodymemory_AnswersAreCharged: what is made for an answer besides the record is charged until it is sent, and if
// there is no room for it the answer is 503.
func TestBodymemory_AnswersAreCharged(t *testing.T) {
	b := memory.New(16 * mib)
	f := newFake()
	f.result = predict.Result{Status: predict.Succeeded, Output: []byte(`"` + strings.Repeat("x", 3*mib) + `"`)}
	site := serve(t, f, Options{Memory: b})
	const ask = "POST /predictions HTTP/1.1\r\nHost: x\r\nAccept: application/msgpack\r\nContent-Length: 2\r\n\r\n{}"
	conn := site.dial(t)
	conn.send(ask)
	if answer, body := conn.want(200); answer.Header.Get("Content-Type") != negotiate.TypeMsgPack || len(body) < 3*mib {
		t.Errorf("%v with %d bytes, want Content-Type application/msgpack and len(body) at least %d bytes", answer.Header,
			len(body), 3*mib)
	}
	conn.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n") // the answer before it has been sent by now
	conn.want(200)
	assert.Equal(t, "bytes left", b.Stats().Used, 0)
	assert.TrueNow(t, b.Take(12*mib, 12*mib), "no room")
	conn.send(ask)
	answer, _ := conn.want(http.StatusServiceUnavailable)
	assert.True(t, answer.Header.Get("Retry-After") == "1", "%v, want Retry-After 1", answer.Header)
	assert.ErrorIs(t, "cause", (&request.RoomError{Bytes: 1, Cause: memory.ErrFull}), memory.ErrFull)
}
