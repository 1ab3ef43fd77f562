package httpd

import (
	"bytes"
	"cmp"
	"errors"
	"io"

	"github.com/valyala/fasthttp"

	"pinion/httpd/negotiate"
	"pinion/httpd/place"
	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/runtime/msgpack"
	"pinion/runtime/request"
)

// outputMember is the member of a prediction object that may have files.
const outputMember = "output"

// readOther reads the body of a create request that is not plain JSON into req.
func (k collection) readOther(ctx *fasthttp.RequestCtx, req *place.Request, form request.Format,
	encoding negotiate.Coding,
) error {
	in, err := k.s.bodies.Open(ctx, encoding)
	if err != nil {
		return err
	}
	defer in.Close()
	if form == request.JSON {
		read, err := k.s.bodies.ReadAll(in)
		if err != nil {
			return err
		}
		return req.ReadJSON(&read, len(req.ContentType) > 0)
	}
	room, body := &request.Room{Budget: k.s.opt.Memory, From: in.Raw.Conn}, io.Reader(in)
	if k.a.placer.Keeps(req.How) {
		raw, err := room.ReadAll(in)
		if err != nil {
			req.Charged = room.Bytes()
			return err
		}
		body, req.Raw = bytes.NewReader(raw), raw
	}
	if req.Request, err = k.a.reader().Read(body, form, string(ctx.Request.Header.ContentType()), room); err != nil {
		if err = cmp.Or(in.Failed(), err); errors.Is(err, request.ErrTooLarge) {
			err = fasthttp.ErrBodyTooLarge
		}
	}
	return err
}

// reader reads bodies for the model.
func (a *api) reader() *request.Reader {
	return &request.Reader{Memory: a.s.opt.Memory, MaxBody: a.s.opt.MaxBody, NewFiles: a.to.Model().NewAttachments}
}

// render converts an answer to the format that its client prefers. Other requests pay two branches.
func (s *answers) render(ctx *fasthttp.RequestCtx) {
	h := &ctx.Request.Header
	if transport.HasSeen(ctx, transport.SeenAccept) && negotiate.Rendered(h, false) == negotiate.AsPack &&
		string(ctx.Response.Header.ContentType()) == negotiate.TypeJSON {
		s.pack(ctx)
	}
	if transport.HasSeen(ctx, transport.SeenAcceptEncoding) {
		if asked := h.Peek(fasthttp.HeaderAcceptEncoding); len(asked) > 0 {
			s.compress(ctx, asked)
		}
	}
}

// pack converts an answer from JSON to MessagePack.
func (s *answers) pack(ctx *fasthttp.RequestCtx) {
	negotiate.Vary(&ctx.Response.Header, fasthttp.HeaderAccept)
	var body []byte
	var release func()
	if big, ok := ctx.Response.BodyStream().(*sliceBody); ok {
		cost := 2 * int64(big.size())
		if !s.opt.Memory.Take(cost, cost) {
			ctx.Response.ResetBody() // releases the record
			s.refuse(ctx, &request.RoomError{Bytes: cost, Cause: memory.ErrFull})
			return
		}
		release = func() { s.opt.Memory.Free(cost) }
		body = make([]byte, 0, big.size())
		for _, part := range big.parts {
			body = append(body, part...)
		}
	} else if body = ctx.Response.Body(); len(body) > maxReused {
		cost := int64(len(body))
		if !s.opt.Memory.Take(cost, cost) {
			s.refuse(ctx, &request.RoomError{Bytes: cost, Cause: memory.ErrFull})
			return
		}
		release = func() { s.opt.Memory.Free(cost) }
	}
	out, err := msgpack.FromJSON(make([]byte, 0, len(body)), body, outputMember)
	if err != nil { // an error, rather than a wrong number
		s.detail(ctx, fasthttp.StatusNotAcceptable, "The answer cannot be MessagePack: "+err.Error()+"; ask for JSON")
		out, _ = msgpack.FromJSON(nil, ctx.Response.Body(), outputMember) // without numbers, this cannot fail
	}
	if release != nil {
		ctx.Response.SetBodyStream(&sliceBody{parts: [3][]byte{out}, release: release}, len(out))
	} else {
		ctx.Response.SetBodyRaw(out)
	}
	ctx.Response.Header.SetContentType(negotiate.TypeMsgPack)
}
