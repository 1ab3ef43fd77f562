package openai

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// ErrorOf returns an error of a call as one of OpenAI's API.
func ErrorOf(err *protocol.Error) *Error {
	e := &Error{Status: err.Status(), Type: TypeServer, Message: err.Message, retryAfter: err.RetryAfterSeconds()}
	switch err.Kind {
	case protocol.BadInput:
		e.Type, e.Code = TypeInvalid, err.Code
		if len(err.Problems) > 0 {
			p := err.Problems[0]
			e.Param = strings.Join(p.Loc, ".")
			if e.Code = CodeInvalidValue; p.Type == predict.TypeMissing {
				e.Code = CodeMissingParameter
			}
		}
	case protocol.Unknown:
		e.Type, e.Param, e.Code = TypeInvalid, "model", CodeModelNotFound
	case protocol.NoPlace:
		e.Type, e.Code = TypeRateLimit, CodeRateLimit
	case protocol.Unauthorized:
		e.Type, e.Code = TypeInvalid, CodeInvalidAPIKey
	case protocol.TooLarge, protocol.BadMethod, protocol.Forbidden:
		e.Type = TypeInvalid
	case protocol.Conflict:
		e.Type, e.final = TypeInvalid, true
	case protocol.InDoubt:
		e.final = true
	}
	return e
}

// Refuse answers with an error.
func Refuse(ctx *fasthttp.RequestCtx, err *Error) {
	body := err.AppendJSON(nil)
	if bytes.HasSuffix(ctx.Path(), []byte("/rerank")) { // Cohere's clients read another member
		body = append(rawjson.AppendQuoted(append(body[:len(body)-1], `,"message":`...), err.Message), '}')
	}
	err.Answer(ctx, body)
}

// Answer answers with an error, of which body is the JSON.
func (e *Error) Answer(ctx *fasthttp.RequestCtx, body []byte) {
	h := &ctx.Response.Header
	if e.retryAfter > 0 {
		h.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(e.retryAfter))
	}
	if e.final || e.Status == fasthttp.StatusInternalServerError {
		h.Set(headerRetry, "false")
	}
	ctx.SetStatusCode(e.Status)
	h.SetContentType(ContentJSON)
	ctx.SetBody(body)
}
