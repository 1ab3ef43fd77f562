package answers

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/bytedance/sonic"
	"github.com/valyala/fasthttp"

	"pinion/httpd/access"
	"pinion/httpd/negotiate"
	"pinion/httpd/protocol"
	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
)

const (
	// MaxReused is the largest buffer that a connection reuses for its next request, and the largest body that is copied.
	MaxReused = 64 << 10

	// HeaderRetry tells a load balancer that the request had no effect: it may ask another replica.
	HeaderRetry = "Pinion-Retry"
	// Elsewhere is its value.
	Elsewhere = "elsewhere"
)

// encoder writes the answers that are structs. Invalid UTF-8, which a model's text may contain, becomes U+FFFD.
var encoder = sonic.Config{SortMapKeys: true, ValidateString: true, NoEncoderNewline: true}.Froze()

// detailBody is the body of most errors. Detail is a sentence, or the problems of a 422.
type detailBody struct {
	Detail   any      `json:"detail"`
	Warnings []string `json:"warnings,omitempty"`
}

// refusalBody is the body of a refused prediction.
type refusalBody struct {
	Error  string `json:"error"`
	Status string `json:"status"`
	Fix    string `json:"fix,omitempty"`
}

// errorBody is the body of a refusal without a prediction.
type errorBody struct {
	Error string `json:"error"`
}

// Writer writes the answers of a server. Safe for concurrent use.
type Writer struct {
	MaxBody   int64          // the limit that the refusal of a larger body names
	Memory    *memory.Budget // what is made for an answer is charged to it; nil means no limit
	Transport *transport.Transport
	Log       *slog.Logger
	Access    *access.Log // nil means off
	// Help returns the address of a document, to which refusals lead; nil means none is known.
	Help func(page string) string
	// Silence is how long a stream may write nothing before a comment is due.
	Silence time.Duration
	Object  predict.Encoder // writes prediction objects

	deflaters deflaters
}

// Encode answers with v.
func (w *Writer) Encode(ctx *fasthttp.RequestCtx, status int, v any) {
	body, err := encoder.Marshal(v)
	w.encoded(ctx, status, body, err)
}

// EncodeSeldom is Encode for rare answers, which clients also request at start: sonic compiles an encoder on the first
// use of a type, which takes 10 ms.
func (w *Writer) EncodeSeldom(ctx *fasthttp.RequestCtx, v any) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	w.encoded(ctx, fasthttp.StatusOK, bytes.TrimSuffix(body.Bytes(), []byte("\n")), err)
}

func (w *Writer) encoded(ctx *fasthttp.RequestCtx, status int, body []byte, err error) {
	if err != nil {
		w.Log.Error("cannot encode an answer", slog.Any("error", err))
		status, body = fasthttp.StatusInternalServerError, []byte(`{"detail":"Internal Server Error"}`)
	}
	JSON(ctx, status, body)
}

// JSON answers with encoded JSON.
func JSON(ctx *fasthttp.RequestCtx, status int, body []byte) {
	ctx.SetStatusCode(status)
	ctx.Response.Header.SetContentType(negotiate.TypeJSON)
	ctx.Response.SetBodyRaw(body)
}

// Literal answers with constant JSON.
func Literal(ctx *fasthttp.RequestCtx, status int, body string) {
	ctx.SetStatusCode(status)
	ctx.Response.Header.SetContentType(negotiate.TypeJSON)
	ctx.SetBodyString(body)
}

// Detail answers with a sentence.
func (w *Writer) Detail(ctx *fasthttp.RequestCtx, status int, text string) {
	w.Encode(ctx, status, detailBody{Detail: text})
}

// Error answers with the reason why a request is refused.
func (w *Writer) Error(ctx *fasthttp.RequestCtx, status int, text string) {
	w.Encode(ctx, status, errorBody{text})
}

// WithHelp adds the address of a document to a refusal's text, if it is known.
func (w *Writer) WithHelp(text, page string) string {
	if w.Help == nil {
		return text
	}
	return strings.TrimSuffix(text, ".") + ". See " + w.Help(page)
}

// Warn adds warnings to an answer.
func Warn(ctx *fasthttp.RequestCtx, warnings []string) {
	for _, w := range warnings {
		ctx.Response.Header.Add(protocol.HeaderWarning, w)
	}
}

// NotFound answers a request for what is not there.
func (w *Writer) NotFound(ctx *fasthttp.RequestCtx) {
	w.Detail(ctx, fasthttp.StatusNotFound, notFound)
}

const notFound = "Not Found"

// NotFoundInstead is NotFound, and says what may have been meant.
func (w *Writer) NotFoundInstead(ctx *fasthttp.RequestCtx, instead string) {
	w.Detail(ctx, fasthttp.StatusNotFound, notFound+": "+instead)
}

// Probe answers 200, or 503 with what is wrong.
func (w *Writer) Probe(ctx *fasthttp.RequestCtx, err error) {
	if err != nil {
		w.Detail(ctx, fasthttp.StatusServiceUnavailable, err.Error())
		return
	}
	Literal(ctx, fasthttp.StatusOK, "{}")
}

// LogRecovered logs a panic. It is deferred.
func (w *Writer) LogRecovered() {
	if v := recover(); v != nil {
		w.LogPanic(v)
	}
}

// LogPanic is called where a panic was recovered.
func (w *Writer) LogPanic(v any, about ...any) {
	w.Log.With(about...).Error("panic in a request", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
}
