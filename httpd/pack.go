package httpd

import (
	"errors"
	"io"

	"github.com/valyala/fasthttp"

	"pinion/httpd/msgpack"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// outputMember is the member of a prediction object in which files may be.
const outputMember = "output"

// readOther reads the body of a create request that is more than plain JSON. The files in it, if any, are in the
// request's Attachments; after an error there are none.
func (k collection) readOther(ctx *fasthttp.RequestCtx, form bodyForm, encoding coding) (req predict.Request, err error) {
	in, err := k.open(ctx, encoding)
	if err != nil {
		return req, err
	}
	defer in.close()
	box := &inbox{svc: k.svc}
	room := &lease{budget: k.opt.Memory}
	defer func() {
		req.Charged = room.bytes
		switch failed := in.failed(); {
		case err == nil && box.Inbox != nil:
			req.Attachments = box.Inbox
		case err != nil:
			box.close()
			if failed != nil {
				err = failed // whatever the format's reader made of it
			}
		}
	}()
	switch form {
	case packBody:
		return k.readPack(in, box, room)
	case formBody:
		return k.readForm(in, string(ctx.Request.Header.ContentType()), box, room)
	}
	body, err := room.readAll(in)
	if err != nil {
		return req, err
	}
	return readEnvelope(body, len(ctx.Request.Header.ContentType()) > 0)
}

// readPack reads a body in MessagePack.
func (k collection) readPack(in *intake, box *inbox, room *lease) (predict.Request, error) {
	body, err := msgpack.ToJSON(in, msgpack.Options{
		Most: k.opt.MaxBody,
		Bins: "input",
		Grow: func(n int) error { return room.grow(int64(n)) },
		Bin: func(dst []byte, from io.Reader) ([]byte, error) {
			n, err := box.add("", "", from)
			return predict.AppendStandIn(dst, n, ""), err
		},
	})
	var syntax *msgpack.SyntaxError
	switch {
	case errors.Is(err, msgpack.ErrTooLarge):
		return predict.Request{}, fasthttp.ErrBodyTooLarge
	case errors.As(err, &syntax):
		return predict.Request{}, &requestError{syntax.Error()}
	case err != nil:
		return predict.Request{}, err
	}
	return readObject(body, rawjson.Lists{})
}

// inbox asks the service for a place when the first file comes.
type inbox struct {
	svc Service
	predict.Inbox
}

func (b *inbox) add(name, mediaType string, from io.Reader) (int, error) {
	if b.Inbox == nil {
		b.Inbox = b.svc.Inbox()
	}
	return b.Inbox.Add(name, mediaType, from)
}

func (b *inbox) close() {
	if b.Inbox != nil {
		b.Inbox.Close()
	}
}

// render puts an answer into the form that its client asks for. Requests that ask for none pay two looks at
// their headers.
func (s *Server) render(ctx *fasthttp.RequestCtx) {
	h := &ctx.Request.Header
	if rendered(h, false) == asPack && string(ctx.Response.Header.ContentType()) == contentJSON {
		s.pack(ctx)
	}
	if asked := h.Peek(fasthttp.HeaderAcceptEncoding); len(asked) > 0 {
		s.compress(ctx, asked)
	}
}

// pack turns an answer in JSON into MessagePack.
func (s *Server) pack(ctx *fasthttp.RequestCtx) {
	varies(&ctx.Response.Header, fasthttp.HeaderAccept)
	var body []byte
	var release func()
	if big, ok := ctx.Response.BodyStream().(*pieces); ok {
		cost := 2 * int64(big.size())
		if !s.opt.Memory.Take(cost, cost) {
			ctx.Response.ResetBody() // lets go of it
			s.refuse(ctx, &roomError{cost, memory.ErrFull})
			return
		}
		release = func() { s.opt.Memory.Free(cost) }
		body = make([]byte, 0, big.size())
		for _, part := range big.parts {
			body = append(body, part...)
		}
	} else {
		body = ctx.Response.Body()
	}
	out, err := msgpack.FromJSON(make([]byte, 0, len(body)), body, outputMember)
	if err != nil { // rather none than another number
		s.detail(ctx, fasthttp.StatusNotAcceptable, "The answer cannot be MessagePack: "+err.Error()+"; ask for JSON")
		out, _ = msgpack.FromJSON(nil, ctx.Response.Body(), outputMember) // it has no numbers
	}
	if release != nil {
		ctx.Response.SetBodyStream(&pieces{parts: [3][]byte{out}, release: release}, len(out))
	} else {
		ctx.Response.SetBodyRaw(out)
	}
	ctx.Response.Header.SetContentType(contentPack)
}
