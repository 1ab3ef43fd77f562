package answers

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/body"
	"pinion/httpd/negotiate"
	"pinion/httpd/protocol"
	"pinion/httpd/transport"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Refuse answers with the reason why a request did not become a prediction.
func (w *Writer) Refuse(ctx *fasthttp.RequestCtx, err error) {
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
		w.Detail(ctx, fasthttp.StatusUnsupportedMediaType, media.Reason)
		return
	case errors.As(err, &broken), errors.Is(err, fasthttp.ErrBodyTooLarge):
		w.Malformed(ctx, err)
		body.Leave(ctx)
		return
	}
	refusal := predict.RefusalOf(err)
	status := protocol.NativeStatus(refusal.Kind)
	if refusal.RetryAfter > 0 {
		RetryAfter(ctx, refusal.RetryAfter)
	}
	if refusal.Elsewhere {
		ctx.Response.Header.Set(HeaderRetry, Elsewhere)
	}
	switch refusal.Kind {
	case predict.RefusedInternal:
		w.Log.Error("cannot take a prediction", slog.Any("error", err))
		w.Detail(ctx, status, "Internal Server Error")
	case predict.RefusedBody, predict.RefusedSize, predict.RefusedFunction:
		w.Detail(ctx, status, err.Error())
	case predict.RefusedValues:
		if errors.As(err, &invalid) {
			Warn(ctx, invalid.Warnings)
			w.Encode(ctx, status, detailBody{invalid.Problems, invalid.Warnings})
		}
	case predict.RefusedTraining:
		w.NotFound(ctx)
	case predict.RefusedStream:
		w.Error(ctx, status, w.WithHelp(err.Error(), "reference/http"))
	case predict.RefusedInDoubt:
		if errors.As(err, &doubt) {
			body := append(rawjson.AppendQuoted([]byte(`{"id":`), doubt.ID), `,"error":`...)
			JSON(ctx, status, append(rawjson.AppendQuoted(body, doubt.Error()), '}'))
		}
	default:
		if refusal.Kind == predict.RefusedMemory || refusal.Kind == predict.RefusedBudget {
			body.LeaveUnread(ctx)
		}
		fix := refusal.Fix()
		if fix != "" {
			Warn(ctx, []string{fix})
		}
		w.Encode(ctx, status, refusalBody{err.Error(), predict.Failed.String(), fix})
	}
}

// RetryAfter says when the client may ask again.
func RetryAfter(ctx *fasthttp.RequestCtx, in time.Duration) {
	seconds := max(1, int64((in+time.Second-1)/time.Second))
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(seconds, 10))
}

// Malformed answers a request that is incomplete or malformed.
func (w *Writer) Malformed(ctx *fasthttp.RequestCtx, err error) {
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
	ctx.Request.ReleaseBody(MaxReused) // the part of a too large body that was read
	var small *fasthttp.ErrSmallBuffer
	switch {
	case refusal == transport.Slow:
		w.Detail(ctx, fasthttp.StatusRequestTimeout,
			"The request came slowly while the server's memory budget (--memory-budget) or its connections were used up")
	case refusal == transport.NoMemory:
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
		ctx.Response.Header.Set(HeaderRetry, Elsewhere)
		w.Detail(ctx, fasthttp.StatusServiceUnavailable, "The server's memory budget is used up (--memory-budget)")
	case timeout:
		w.Detail(ctx, fasthttp.StatusRequestTimeout, "The request did not arrive in time")
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		w.Detail(ctx, fasthttp.StatusRequestEntityTooLarge, w.TooLargeText())
	case errors.As(err, &small):
		w.Detail(ctx, fasthttp.StatusRequestHeaderFieldsTooLarge,
			fmt.Sprintf("The request's headers are larger than %d bytes", transport.ReadBuffer))
	case refusal == transport.Malformed:
		w.Detail(ctx, fasthttp.StatusBadRequest, "Malformed HTTP request: "+string(c.FramingError()))
	default:
		// fasthttp's message is about its buffers; it is in the log at debug level.
		w.Detail(ctx, fasthttp.StatusBadRequest, "Malformed HTTP request: its first line, headers or body cannot be read")
	}
}

// TooLargeText returns the message of a body that is too large as it came, decompressed, or as JSON.
func (w *Writer) TooLargeText() string {
	return fmt.Sprintf("The request body is larger than %d bytes, the limit of --max-body", w.MaxBody)
}
