package httpd

import (
	"cmp"
	"errors"
	"io"

	"github.com/valyala/fasthttp"

	"pinion/httpd/msgpack"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// outputMember is the member of a prediction object that may have files.
const outputMember = "output"

// readOther reads the body of a create request that is not plain JSON.
func (k collection) readOther(ctx *fasthttp.RequestCtx, form bodyForm, encoding coding,
	how *asked,
) (req predict.Request, err error) {
	in, err := k.open(ctx, encoding)
	if err != nil {
		return req, err
	}
	defer in.close()
	if form == jsonBody {
		body, err := k.readCharged(in, in.raw.conn)
		if err == nil {
			return body.request(len(ctx.Request.Header.ContentType()) > 0)
		}
		return req, cmp.Or(in.failed(), err) // the body's error before the format reader's
	}
	room := &lease{budget: k.opt.Memory, from: in.raw.conn}
	if k.keeps(*how) {
		kept, raw, err := k.keep(in, room)
		if err != nil {
			return predict.Request{Charged: room.bytes}, err
		}
		in, how.raw = kept, &raw
	}
	return k.readForms(in, form, string(ctx.Request.Header.ContentType()), room)
}

// readForms reads a body with files. They are the request's Attachments; after an error they are removed.
func (k collection) readForms(in *decodedBody, form bodyForm, contentType string,
	room *lease,
) (req predict.Request, err error) {
	files := &attachments{svc: k.svc}
	defer func() {
		req.Charged = room.bytes
		switch failed := in.failed(); {
		case err == nil && files.Attachments != nil:
			req.Attachments = files.Attachments
		case err != nil:
			files.close()
			if failed != nil {
				err = failed // the body's error, not the format reader's
			}
		}
	}()
	if form == packBody {
		return k.readPack(in, files, room)
	}
	return k.readForm(in, contentType, files, room)
}

func (k collection) readPack(in *decodedBody, files *attachments, room *lease) (predict.Request, error) {
	body, err := msgpack.ToJSON(in, msgpack.Options{
		Most: k.opt.MaxBody,
		Bins: "input",
		Grow: func(n int) error { return room.grow(int64(n)) },
		Bin: func(dst []byte, from io.Reader) ([]byte, error) {
			n, err := files.add("", "", from)
			return predict.AppendPlaceholder(dst, n, ""), err
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

// render converts an answer to the format that its client prefers. Other requests pay two branches.
func (s *Server) render(ctx *fasthttp.RequestCtx) {
	h := &ctx.Request.Header
	if hasSeen(ctx, seenAccept) && rendered(h, false) == asPack &&
		string(ctx.Response.Header.ContentType()) == contentJSON {
		s.pack(ctx)
	}
	if hasSeen(ctx, seenAcceptEncoding) {
		if asked := h.Peek(fasthttp.HeaderAcceptEncoding); len(asked) > 0 {
			s.compress(ctx, asked)
		}
	}
}

// pack converts an answer from JSON to MessagePack.
func (s *Server) pack(ctx *fasthttp.RequestCtx) {
	varies(&ctx.Response.Header, fasthttp.HeaderAccept)
	var body []byte
	var release func()
	if big, ok := ctx.Response.BodyStream().(*sliceBody); ok {
		cost := 2 * int64(big.size())
		if !s.opt.Memory.Take(cost, cost) {
			ctx.Response.ResetBody() // releases the record
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
	if err != nil { // an error, rather than a wrong number
		s.detail(ctx, fasthttp.StatusNotAcceptable, "The answer cannot be MessagePack: "+err.Error()+"; ask for JSON")
		out, _ = msgpack.FromJSON(nil, ctx.Response.Body(), outputMember) // without numbers, this cannot fail
	}
	if release != nil {
		ctx.Response.SetBodyStream(&sliceBody{parts: [3][]byte{out}, release: release}, len(out))
	} else {
		ctx.Response.SetBodyRaw(out)
	}
	ctx.Response.Header.SetContentType(contentPack)
}
