package anthropic

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"pinion/httpd/openai"
	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
)

// New returns the protocol for these models. strict is that of openai.New.
func New(models protocol.Models, strict bool) protocol.Protocol {
	routes := openai.DialectRoutes(models, strict,
		openai.Dialect{Path: "/v1/messages", Read: read, Refuse: refuse},
		openai.Dialect{Path: "/v1/messages/count_tokens", Read: readCount, Refuse: refuse, Count: appendCount})
	return protocol.Protocol{
		Name: protocol.Anthropic, Routes: routes, Prefixes: []string{"/v1/messages", "/v1/complete"},
		Refuse: func(ctx *fasthttp.RequestCtx, err *protocol.Error) { refuse(ctx, openai.ErrorOf(err)) },
	}
}

// appendCount appends the answer to a request for the count of its tokens.
func appendCount(dst []byte, tokens int64) []byte {
	return append(strconv.AppendInt(append(dst, `{"input_tokens":`...), tokens, 10), '}')
}

// refuse answers with an error.
func refuse(ctx *fasthttp.RequestCtx, err *openai.Error) { err.Answer(ctx, appendError(nil, err)) }

// appendError appends an error object.
func appendError(dst []byte, err *openai.Error) []byte {
	dst = rawjson.AppendQuoted(append(dst, `{"type":"error","error":{"type":`...), typeOf(err.Status))
	dst = rawjson.AppendQuoted(append(dst, `,"message":`...), err.Message)
	if err.Details != "" {
		dst = append(append(dst, `,"details":`...), err.Details...)
	}
	return append(dst, "}}"...)
}

// typeOf returns the type of errors with a status.
func typeOf(status int) string {
	switch status {
	case fasthttp.StatusBadRequest, fasthttp.StatusMethodNotAllowed:
		return "invalid_request_error"
	case fasthttp.StatusUnauthorized:
		return "authentication_error"
	case fasthttp.StatusForbidden:
		return "permission_error"
	case fasthttp.StatusNotFound:
		return "not_found_error"
	case fasthttp.StatusRequestEntityTooLarge:
		return "request_too_large"
	case fasthttp.StatusTooManyRequests:
		return "rate_limit_error"
	case fasthttp.StatusServiceUnavailable:
		return "overloaded_error"
	}
	if status/100 == 4 {
		return "invalid_request_error"
	}
	return "api_error"
}
