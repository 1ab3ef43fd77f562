package httpd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/bytedance/sonic"
	"github.com/valyala/fasthttp"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

const (
	contentJSON = "application/json"

	// headerRetry tells a balancer that a refusal left nothing behind: it may ask another replica.
	headerRetry = "Pinion-Retry"
	elsewhere   = "elsewhere"
)

// encoder writes the answers that are structs. It is never changed. Invalid UTF-8 in a string, as a
// model's output can hold, becomes U+FFFD.
var encoder = sonic.Config{SortMapKeys: true, ValidateString: true, NoEncoderNewline: true}.Froze()

// detailBody is what most errors look like; Detail is a sentence or the problems of a 422.
type detailBody struct {
	Detail any `json:"detail"`
}

// refusalBody is a prediction that was not taken.
type refusalBody struct {
	Error  string `json:"error"`
	Status string `json:"status"`
}

// errorBody is a refusal that is about no prediction.
type errorBody struct {
	Error string `json:"error"`
}

// encode answers with v.
func (s *Server) encode(ctx *fasthttp.RequestCtx, status int, v any) {
	body, err := encoder.Marshal(v)
	s.encoded(ctx, status, body, err)
}

// encodeSeldom is encode for what is asked for a few times a minute at most, and at the start of a server, where an
// answer is waited for: the encoder's first answer of a type takes 10 ms, which it makes machine code in.
func (s *Server) encodeSeldom(ctx *fasthttp.RequestCtx, status int, v any) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	s.encoded(ctx, status, bytes.TrimSuffix(body.Bytes(), []byte("\n")), err)
}

func (s *Server) encoded(ctx *fasthttp.RequestCtx, status int, body []byte, err error) {
	if err != nil {
		s.log.Error("cannot encode an answer", slog.Any("error", err))
		status, body = fasthttp.StatusInternalServerError, []byte(`{"detail":"Internal Server Error"}`)
	}
	ctx.SetStatusCode(status)
	ctx.Response.Header.SetContentType(contentJSON)
	ctx.Response.SetBodyRaw(body)
}

// literal answers with JSON that is there already.
func literal(ctx *fasthttp.RequestCtx, status int, body string) {
	ctx.SetStatusCode(status)
	ctx.Response.Header.SetContentType(contentJSON)
	ctx.SetBodyString(body)
}

func (s *Server) detail(ctx *fasthttp.RequestCtx, status int, text string) {
	s.encode(ctx, status, detailBody{text})
}

// refuse answers with the reason why a request did not become a prediction.
func (s *Server) refuse(ctx *fasthttp.RequestCtx, err error) {
	var (
		syntax   *rawjson.SyntaxError
		invalid  *predict.ValidationError
		full     *predict.QueueFullError
		notReady *predict.NotReadyError
		media    *mediaError
		broken   *bodyError
		request  *requestError
		limit    *predict.FileLimitError
		room     *roomError
		status   int
	)
	switch {
	case errors.As(err, &media):
		if media.encoding {
			ctx.Response.Header.Set(fasthttp.HeaderAcceptEncoding, readableCodings)
		}
		s.detail(ctx, fasthttp.StatusUnsupportedMediaType, media.reason)
		return
	case errors.As(err, &broken), errors.Is(err, fasthttp.ErrBodyTooLarge):
		s.answerMalformed(ctx, err)
		s.leave(ctx)
		return
	case errors.Is(err, memory.ErrTooLarge):
		s.leaveUnread(ctx)
		s.detail(ctx, fasthttp.StatusRequestEntityTooLarge, err.Error())
		return
	case errors.As(err, &limit):
		s.detail(ctx, fasthttp.StatusRequestEntityTooLarge, limit.Reason)
		return
	case errors.As(err, &syntax), errors.Is(err, errEmptyBody), errors.As(err, &request):
		s.detail(ctx, fasthttp.StatusBadRequest, err.Error())
		return
	case errors.As(err, &invalid):
		warn(ctx, invalid.Warnings)
		s.encode(ctx, fasthttp.StatusUnprocessableEntity, detailBody{invalid.Problems})
		return
	case errors.Is(err, predict.ErrInFlight): // no retry elsewhere: this server has it
		s.encode(ctx, fasthttp.StatusConflict, refusalBody{err.Error(), predict.Failed.String()})
		return
	case errors.Is(err, predict.ErrNoTraining):
		s.notFound(ctx)
		return
	case errors.Is(err, predict.ErrNotStreaming), errors.Is(err, predict.ErrTrainingStream):
		s.encode(ctx, fasthttp.StatusNotAcceptable, errorBody{err.Error()})
		return
	case errors.Is(err, predict.ErrTooManySubscribers): // here too: no other server has its events
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
		s.encode(ctx, fasthttp.StatusTooManyRequests, refusalBody{err.Error(), predict.Failed.String()})
		return
	case errors.Is(err, predict.ErrBusy):
		status = fasthttp.StatusConflict
	case errors.As(err, &full):
		status = fasthttp.StatusTooManyRequests
		seconds := max(1, int64((full.RetryAfter+time.Second-1)/time.Second))
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(seconds, 10))
	case errors.Is(err, predict.ErrQueueTimeout):
		status = fasthttp.StatusRequestTimeout
	case errors.As(err, &notReady):
		status = fasthttp.StatusServiceUnavailable
	case errors.As(err, &room), errors.Is(err, memory.ErrFull):
		status = fasthttp.StatusServiceUnavailable
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
		s.leaveUnread(ctx)
	default:
		s.log.Error("cannot take a prediction", slog.Any("error", err))
		s.detail(ctx, fasthttp.StatusInternalServerError, "Internal Server Error")
		return
	}
	ctx.Response.Header.Set(headerRetry, elsewhere)
	s.encode(ctx, status, refusalBody{err.Error(), predict.Failed.String()})
}

// malformed answers what fasthttp could not read as a request. It closes the connection after it.
func (s *Server) malformed(ctx *fasthttp.RequestCtx, err error) {
	if s.reports() {
		defer s.report(ctx) // no handler does
	}
	echoRequestID(ctx)
	s.answerMalformed(ctx, err)
}

// answerMalformed answers a request that did not come whole, or not in a readable form.
func (s *Server) answerMalformed(ctx *fasthttp.RequestCtx, err error) {
	c, _ := ctx.Conn().(*conn)
	var netErr net.Error
	timeout := errors.As(err, &netErr) && netErr.Timeout() || c != nil && c.late // fasthttp's errors of chunks hide their causes
	if c != nil && !timeout {
		c.linger = true // it may still be sending, and must be able to read this
	}
	ctx.Request.ReleaseBody(maxKept) // what was read of a body that is too large
	var small *fasthttp.ErrSmallBuffer
	switch {
	case timeout:
		s.detail(ctx, fasthttp.StatusRequestTimeout, "The request did not arrive in time")
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		s.detail(ctx, fasthttp.StatusRequestEntityTooLarge,
			fmt.Sprintf("The request body is larger than %d bytes, which is the most this server takes", s.opt.MaxBody))
	case errors.As(err, &small):
		s.detail(ctx, fasthttp.StatusRequestHeaderFieldsTooLarge,
			fmt.Sprintf("The request's headers are larger than %d bytes", readBuffer))
	case c != nil && c.framing.err != "":
		s.detail(ctx, fasthttp.StatusBadRequest, "Malformed HTTP request: "+string(c.framing.err))
	default:
		// fasthttp's own words speak of its buffers; they are in the log at debug level.
		s.detail(ctx, fasthttp.StatusBadRequest, "Malformed HTTP request: its first line, headers or body cannot be read")
	}
}

// headerTooLarge marks a request whose body is too large. No client gains anything by sending it.
const headerTooLarge = "Pinion-Body-Too-Large"

// headerReceived sees a request's header before its body is read. fasthttp begins to read a body before there is a
// handler to refuse it, or asks a client for it that wants to know first: so one that is too large is made to look
// like none, and handle says no at once.
func (s *Server) headerReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if int64(h.ContentLength()) > s.opt.MaxBody {
		h.Del(fasthttp.HeaderExpect)
		h.SetContentLength(0)
		h.Set(headerTooLarge, "1")
	}
	return fasthttp.RequestConfig{}
}

// tooLarge tells whether headerReceived has found the request's body too large.
func tooLarge(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Request.Header
	return h.ContentLength() == 0 && ctx.RequestBodyStream() != nil && len(h.Peek(headerTooLarge)) > 0
}
