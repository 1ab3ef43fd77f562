package answers

import (
	"github.com/valyala/fasthttp"

	"pinion/httpd/negotiate"
	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/runtime/msgpack"
	"pinion/runtime/request"
)

// outputMember is the member of a prediction object that may have files.
const outputMember = "output"

// Render converts an answer to the format that its client prefers. Other requests pay two branches.
func (w *Writer) Render(ctx *fasthttp.RequestCtx) {
	h := &ctx.Request.Header
	if transport.HasSeen(ctx, transport.SeenAccept) && negotiate.Rendered(h, false) == negotiate.AsPack &&
		string(ctx.Response.Header.ContentType()) == negotiate.TypeJSON {
		w.pack(ctx)
	}
	if transport.HasSeen(ctx, transport.SeenAcceptEncoding) {
		if asked := h.Peek(fasthttp.HeaderAcceptEncoding); len(asked) > 0 {
			w.compress(ctx, asked)
		}
	}
}

// pack converts an answer from JSON to MessagePack.
func (w *Writer) pack(ctx *fasthttp.RequestCtx) {
	negotiate.Vary(&ctx.Response.Header, fasthttp.HeaderAccept)
	var body []byte
	var of memory.Owner
	if big, ok := ctx.Response.BodyStream().(*sliceBody); ok {
		cost := 2 * int64(big.size())
		if !w.Memory.Take(cost, cost) {
			ctx.Response.ResetBody() // releases the record
			w.Refuse(ctx, &request.RoomError{Bytes: cost, Cause: memory.ErrFull})
			return
		}
		of = &memory.Taken{Budget: w.Memory, Bytes: cost}
		body = make([]byte, 0, big.size())
		for _, part := range big.parts {
			body = append(body, part...)
		}
	} else if body = ctx.Response.Body(); len(body) > MaxReused {
		cost := int64(len(body))
		if !w.Memory.Take(cost, cost) {
			w.Refuse(ctx, &request.RoomError{Bytes: cost, Cause: memory.ErrFull})
			return
		}
		of = &memory.Taken{Budget: w.Memory, Bytes: cost}
	}
	out, err := msgpack.FromJSON(make([]byte, 0, len(body)), body, outputMember)
	if err != nil { // an error, rather than a wrong number
		w.Detail(ctx, fasthttp.StatusNotAcceptable, "The answer cannot be MessagePack: "+err.Error()+"; ask for JSON")
		out, _ = msgpack.FromJSON(nil, ctx.Response.Body(), outputMember) // without numbers, this cannot fail
	}
	if of != nil {
		ctx.Response.SetBodyStream(&sliceBody{parts: [3][]byte{out}, of: of}, len(out))
	} else {
		ctx.Response.SetBodyRaw(out)
	}
	ctx.Response.Header.SetContentType(negotiate.TypeMsgPack)
}
