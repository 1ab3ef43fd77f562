package httpd

import (
	"log/slog"
	"testing"

	"github.com/valyala/fasthttp"
)

func TestErrors_TextOfAnswers(t *testing.T) {
	s := &Server{}
	var ctx fasthttp.RequestCtx
	s.encode(&ctx, fasthttp.StatusConflict, detailBody{map[string]string{
		"z": "1", "a": "<b>&amp;\x1f\t\"\\ \xff\xc3 é 😀\n", // in the order of names; a model's text may have no UTF-8
	}})
	const want = `{"detail":{"a":"<b>&amp;\u001f\t\"\\ \ufffd\ufffd é 😀\n","z":"1"}}`
	if got := string(ctx.Response.Body()); got != want || ctx.Response.StatusCode() != fasthttp.StatusConflict {
		t.Errorf("got %d %q, want 409 %q", ctx.Response.StatusCode(), got, want)
	}
}

func TestErrors_AnswerThatCannotBeEncoded(t *testing.T) {
	s := &Server{log: slog.New(slog.DiscardHandler)}
	var ctx fasthttp.RequestCtx
	s.encode(&ctx, fasthttp.StatusOK, detailBody{func() {}})
	if got := string(ctx.Response.Body()); ctx.Response.StatusCode() != 500 || got != `{"detail":"Internal Server Error"}` {
		t.Errorf("got %d %q, want 500", ctx.Response.StatusCode(), got)
	}
}
