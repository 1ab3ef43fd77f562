package httpd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/bytedance/sonic"
	"github.com/valyala/fasthttp"

	"pinion/httpd/access"
	"pinion/httpd/body"
	"pinion/httpd/negotiate"
	"pinion/httpd/protocol"
	"pinion/httpd/transport"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

const (
	// headerRetry tells a load balancer that the request had no effect: it may ask another replica.
	headerRetry = "Pinion-Retry"
	elsewhere   = "elsewhere"

	// headerWarning tells a client about an unknown input, one header for each.
	headerWarning = protocol.HeaderWarning
)

// encoder writes the answers that are structs. Invalid UTF-8, which a model's text may contain, becomes U+FFFD.
var encoder = sonic.Config{SortMapKeys: true, ValidateString: true, NoEncoderNewline: true}.Froze()

// detailBody is the body of most errors. Detail is a sentence, or the problems of a 422.
type detailBody struct {
	Detail any `json:"detail"`
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

// encode answers with v.
func (s *answers) encode(ctx *fasthttp.RequestCtx, status int, v any) {
	body, err := encoder.Marshal(v)
	s.encoded(ctx, status, body, err)
}

// encodeSeldom is encode for rare answers, which clients also request at start: sonic compiles an encoder on the first
// use of a type, which takes 10 ms.
func (s *answers) encodeSeldom(ctx *fasthttp.RequestCtx, v any) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	s.encoded(ctx, fasthttp.StatusOK, bytes.TrimSuffix(body.Bytes(), []byte("\n")), err)
}

func (s *answers) encoded(ctx *fasthttp.RequestCtx, status int, body []byte, err error) {
	if err != nil {
		s.log.Error("cannot encode an answer", slog.Any("error", err))
		status, body = fasthttp.StatusInternalServerError, []byte(`{"detail":"Internal Server Error"}`)
	}
	answerJSON(ctx, status, body)
}

// answerJSON answers with encoded JSON.
func answerJSON(ctx *fasthttp.RequestCtx, status int, body []byte) {
	ctx.SetStatusCode(status)
	ctx.Response.Header.SetContentType(negotiate.TypeJSON)
	ctx.Response.SetBodyRaw(body)
}

// literal answers with constant JSON.
func literal(ctx *fasthttp.RequestCtx, status int, body string) {
	ctx.SetStatusCode(status)
	ctx.Response.Header.SetContentType(negotiate.TypeJSON)
	ctx.SetBodyString(body)
}

func (s *answers) detail(ctx *fasthttp.RequestCtx, status int, text string) {
	s.encode(ctx, status, detailBody{text})
}

// withHelp adds the address of a document to a refusal's text, if it is known.
func (s *answers) withHelp(text, page string) string {
	if s.opt.Help == nil {
		return text
	}
	return strings.TrimSuffix(text, ".") + ". See " + s.opt.Help(page)
}

// refuse answers with the reason why a request did not become a prediction.
func (s *answers) refuse(ctx *fasthttp.RequestCtx, err error) {
	var (
		media   *negotiate.MediaError
		broken  *body.BrokenError
		invalid *predict.ValidationError
		doubt   *predict.InDoubtError
	)
	switch {
	case errors.As(err, &media):
		if media.Encoding {
			ctx.Response.Header.Set(fasthttp.HeaderAcceptEncoding, negotiate.Readable)
		}
		s.detail(ctx, fasthttp.StatusUnsupportedMediaType, media.Reason)
		return
	case errors.As(err, &broken), errors.Is(err, fasthttp.ErrBodyTooLarge):
		s.answerMalformed(ctx, err)
		body.Leave(ctx)
		return
	}
	refusal := predict.RefusalOf(err)
	status := protocol.NativeStatus(refusal.Kind)
	if refusal.RetryAfter > 0 {
		retryAfter(ctx, refusal.RetryAfter)
	}
	if refusal.Elsewhere {
		ctx.Response.Header.Set(headerRetry, elsewhere)
	}
	switch refusal.Kind {
	case predict.RefusedInternal:
		s.log.Error("cannot take a prediction", slog.Any("error", err))
		s.detail(ctx, status, "Internal Server Error")
	case predict.RefusedBody, predict.RefusedSize:
		s.detail(ctx, status, err.Error())
	case predict.RefusedValues:
		if errors.As(err, &invalid) {
			warn(ctx, invalid.Warnings)
			s.encode(ctx, status, detailBody{invalid.Problems})
		}
	case predict.RefusedTraining:
		s.notFound(ctx)
	case predict.RefusedStream:
		s.encode(ctx, status, errorBody{s.withHelp(err.Error(), "reference/http")})
	case predict.RefusedInDoubt:
		if errors.As(err, &doubt) {
			body := append(rawjson.AppendQuoted([]byte(`{"id":`), doubt.ID), `,"error":`...)
			answerJSON(ctx, status, append(rawjson.AppendQuoted(body, doubt.Error()), '}'))
		}
	default:
		if refusal.Kind == predict.RefusedMemory || refusal.Kind == predict.RefusedBudget {
			body.LeaveUnread(ctx)
		}
		fix := refusal.Fix()
		if fix != "" {
			warn(ctx, []string{fix})
		}
		s.encode(ctx, status, refusalBody{err.Error(), predict.Failed.String(), fix})
	}
}

// retryAfter says when the client may ask again.
func retryAfter(ctx *fasthttp.RequestCtx, in time.Duration) {
	seconds := max(1, int64((in+time.Second-1)/time.Second))
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(seconds, 10))
}

// malformed answers a request that fasthttp could not parse. fasthttp then closes the connection.
func (s *Server) malformed(ctx *fasthttp.RequestCtx, err error) {
	if s.reports() {
		defer s.report(ctx) // no handler runs
	}
	access.EchoRequestID(ctx)
	s.out.answerMalformed(ctx, err)
}

// answerMalformed answers a request that is incomplete or malformed.
func (s *answers) answerMalformed(ctx *fasthttp.RequestCtx, err error) {
	c, ours := ctx.Conn().(*transport.Conn)
	refusal := transport.NotRefused
	if ours {
		refusal = c.Refusal()
	}
	var netErr net.Error
	// fasthttp hides the causes of chunk errors
	timeout := errors.As(err, &netErr) && netErr.Timeout() || refusal == transport.Late
	if ours && !timeout {
		c.Linger() // the client may still be sending, and must be able to read this
	}
	ctx.Request.ReleaseBody(maxReused) // the part of a too large body that was read
	var small *fasthttp.ErrSmallBuffer
	switch {
	case refusal == transport.Slow:
		s.detail(ctx, fasthttp.StatusRequestTimeout,
			"The request came slowly while the server's memory budget (--memory-budget) or its connections were used up")
	case refusal == transport.NoMemory:
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
		ctx.Response.Header.Set(headerRetry, elsewhere)
		s.detail(ctx, fasthttp.StatusServiceUnavailable, "The server's memory budget is used up (--memory-budget)")
	case timeout:
		s.detail(ctx, fasthttp.StatusRequestTimeout, "The request did not arrive in time")
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		s.detail(ctx, fasthttp.StatusRequestEntityTooLarge, s.tooLargeText())
	case errors.As(err, &small):
		s.detail(ctx, fasthttp.StatusRequestHeaderFieldsTooLarge,
			fmt.Sprintf("The request's headers are larger than %d bytes", transport.ReadBuffer))
	case refusal == transport.Malformed:
		s.detail(ctx, fasthttp.StatusBadRequest, "Malformed HTTP request: "+string(c.FramingError()))
	default:
		// fasthttp's message is about its buffers; it is in the log at debug level.
		s.detail(ctx, fasthttp.StatusBadRequest, "Malformed HTTP request: its first line, headers or body cannot be read")
	}
}

// headerTooLarge marks a request whose body is too large. A client that sends it only gets its own request refused.
const headerTooLarge = "Pinion-Body-Too-Large"

// headerReceived runs before a request's body is read. fasthttp starts to read a body, or answers 100 Continue, before
// a handler can refuse it. So headerReceived hides a body that is too large, and handle refuses the request.
func (s *Server) headerReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if int64(h.ContentLength()) > s.opt.MaxBody {
		h.Del(fasthttp.HeaderExpect)
		h.SetContentLength(0)
		h.Set(headerTooLarge, "1")
	}
	return fasthttp.RequestConfig{}
}

// tooLargeText returns the message of a body that is too large as it came, decompressed, or as JSON.
func (s *answers) tooLargeText() string {
	return fmt.Sprintf("The request body is larger than %d bytes, the limit of --max-body", s.opt.MaxBody)
}

// tooLarge reports whether headerReceived found the request's body too large.
func tooLarge(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Request.Header
	return h.ContentLength() == 0 && ctx.RequestBodyStream() != nil && len(h.Peek(headerTooLarge)) > 0
}

// warn adds warnings to an answer.
func warn(ctx *fasthttp.RequestCtx, warnings []string) {
	for _, w := range warnings {
		ctx.Response.Header.Add(headerWarning, w)
	}
}
