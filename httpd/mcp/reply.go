package mcp

import (
	"fmt"
	"strconv"

	"github.com/valyala/fasthttp"

	"pinion/httpd/protocol"
	"pinion/runtime/rawjson"
)

// The codes of errors, by JSON-RPC and by the protocol.
const (
	codeParse    = -32700
	codeRequest  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeInternal = -32603
	codeHeader   = -32020
	codeLacks    = -32021 // the client has not declared what is needed
	codeVersion  = -32022
	codeResource = -32002 // an unknown resource, to clients of 2025
)

// rpcError is an error of JSON-RPC.
type rpcError struct {
	code    int
	message string
	data    []byte // JSON, or nil
}

func refusal(code int, format string, args ...any) *rpcError {
	return &rpcError{code: code, message: fmt.Sprintf(format, args...)}
}

// status returns the HTTP status of an error of a modern message. Those of 2025 are answers as any other, which is what their
// clients expect; only what cannot be read has a status too.
func (e *rpcError) status(modern bool) int {
	switch {
	case e.code == codeParse, e.code == codeRequest, e.code == codeVersion:
		return fasthttp.StatusBadRequest
	case !modern:
		return fasthttp.StatusOK
	case e.code == codeMethod:
		return fasthttp.StatusNotFound
	case e.code == codeInternal:
		return fasthttp.StatusInternalServerError
	}
	return fasthttp.StatusBadRequest
}

// errorBody returns the response to a request with that id; nil means the id is not known.
func errorBody(id []byte, e *rpcError) []byte {
	dst := []byte(`{"jsonrpc":"2.0",`)
	if id != nil {
		dst = append(append(append(dst, `"id":`...), id...), ',')
	}
	dst = strconv.AppendInt(append(dst, `"error":{"code":`...), int64(e.code), 10)
	dst = rawjson.AppendQuoted(append(dst, `,"message":`...), e.message)
	if e.data != nil {
		dst = append(append(dst, `,"data":`...), e.data...)
	}
	return append(dst, "}}"...)
}

// refuse answers a request whose message could not be read, or was not.
func refuse(ctx *fasthttp.RequestCtx, err *protocol.Error) {
	code := codeRequest
	if err.Kind.Status() >= fasthttp.StatusInternalServerError || err.Kind == protocol.NoPlace {
		code = codeInternal
	}
	err.Answer(ctx, errorBody(nil, &rpcError{code: code, message: err.Message}))
}

// refuse answers a message with an error.
func (r *request) refuse(e *rpcError) {
	r.x.SetStatusCode(e.status(r.modern))
	r.x.Response.Header.SetContentType(contentJSON)
	r.x.SetBody(errorBody(r.id, e))
}

// open returns the beginning of a response to the request, up to the members of its result.
func (r *request) open() []byte { return r.openAs("complete") }

// openAs is open for a result of that type.
func (r *request) openAs(kind string) []byte {
	dst := append([]byte(`{"jsonrpc":"2.0","id":`), r.id...)
	return r.openResult(append(dst, `,"result":`...), kind)
}

// openResult appends the beginning of a result of that type.
func (r *request) openResult(dst []byte, kind string) []byte {
	if !r.modern {
		return append(dst, '{')
	}
	dst = append(append(append(dst, `{"resultType":"`...), kind...), `","_meta":{"io.modelcontextprotocol/serverInfo":`...)
	return append(dst, r.s.info+`}`...)
}

// addMember appends the comma and the name of a member whose value follows.
func addMember(dst []byte, name string) []byte {
	dst = rawjson.Comma(dst, dst[len(dst)-1] != '{')
	return append(rawjson.AppendQuoted(dst, name), ':')
}

// addText appends a member with a text.
func addText(dst []byte, name, value string) []byte {
	return rawjson.AppendQuoted(addMember(dst, name), value)
}

// addCaching appends for how long a client may keep a result, and whether others may get it.
func (r *request) addCaching(dst []byte) []byte {
	if !r.modern {
		return dst
	}
	dst = strconv.AppendInt(addMember(dst, "ttlMs"), r.s.o.Fresh.Milliseconds(), 10)
	scope := "public"
	if r.s.o.Private {
		scope = "private"
	}
	return addText(dst, "cacheScope", scope)
}

// send answers with a response that is complete but for its brackets.
func (r *request) send(dst []byte) {
	r.body.Release()
	r.x.Send(contentJSON, append(dst, "}}"...))
}

const contentJSON = "application/json"
