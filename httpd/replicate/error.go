package replicate

import (
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

const (
	contentJSON   = "application/json"
	contentStream = "text/event-stream"
)

// refuse answers with an error.
func refuse(ctx *fasthttp.RequestCtx, err *protocol.Error) {
	status := err.Status()
	if err.Kind == protocol.BadInput && status == fasthttp.StatusBadRequest {
		status = fasthttp.StatusUnprocessableEntity
	}
	err.Answer(ctx, appendError(nil, status, err))
	ctx.SetStatusCode(status)
}

// appendError appends a problem document. Invalid inputs are listed in it.
func appendError(dst []byte, status int, err *protocol.Error) []byte {
	title := fasthttp.StatusMessage(status)
	if len(err.Problems) > 0 {
		title = "Input validation failed"
	}
	dst = appendMember(append(dst, '{'), "title", title)
	dst = appendMember(append(dst, ','), "detail", err.Message)
	dst = strconv.AppendInt(append(dst, `,"status":`...), int64(status), 10)
	for i, p := range err.Problems {
		head := `,{"field":`
		if i == 0 {
			head = `,"invalid_fields":[{"field":`
		}
		dst = rawjson.AppendQuoted(append(dst, head...), fieldOf(p))
		dst = appendMember(append(dst, `,"type":"invalid",`...), "description", p.Msg)
		dst = append(dst, '}')
	}
	if len(err.Problems) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// fieldOf returns the path of an invalid value in the body of a request.
func fieldOf(p predict.Problem) string {
	if len(p.Loc) > 0 && p.Loc[0] == "body" {
		return strings.Join(p.Loc[1:], ".")
	}
	return "input." + strings.Join(p.Loc, ".")
}

// appendMember appends a member of an object whose value is a text.
func appendMember(dst []byte, name, value string) []byte {
	return rawjson.AppendQuoted(append(rawjson.AppendQuoted(dst, name), ':'), value)
}

// notFound returns the error of an id that the server does not know.
func notFound(what, id string) *protocol.Error {
	return protocol.Errorf(protocol.Unknown, "unknown %s %q", what, logtext.Clip(id))
}
