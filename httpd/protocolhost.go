package httpd

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/valyala/fasthttp"

	"pinion/httpd/body"
	"pinion/httpd/negotiate"
	"pinion/httpd/protocol"
	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/runtime/request"
	"pinion/runtime/trace"
)

// Charge implements protocol.Host.
func (h *host) Charge(ctx *fasthttp.RequestCtx, held, bytes int64) *protocol.Error {
	c, _ := ctx.Conn().(*transport.Conn)
	if err := h.s.bodies.AwaitMore(c, held, bytes); err != nil {
		return protocol.ErrorOf(err)
	}
	return nil
}

// OnGeneration implements protocol.Host.
func (h *host) OnGeneration() func(metrics.Generation) { return h.s.opt.OnGeneration }

// Sampled implements protocol.Host.
func (h *host) Sampled(ctx *fasthttp.RequestCtx) bool {
	t, _ := ctx.UserValue(traceKey{}).(*trace.Trace)
	return t != nil && t.Sampled
}

// MayControl implements protocol.Host.
func (h *host) MayControl(ctx *fasthttp.RequestCtx) bool { return h.s.guard.MayControl(ctx) }

// Meta implements protocol.Host.
func (h *host) Meta(ctx *fasthttp.RequestCtx) (request.Meta, error) { return h.s.meta(ctx) }

// ReadBody implements protocol.Host.
func (h *host) ReadBody(ctx *fasthttp.RequestCtx, more int64) (protocol.Body, *protocol.Error) {
	sent, err := h.readAny(ctx, more)
	if err == nil {
		c, _ := ctx.Conn().(*transport.Conn)
		err = h.s.bodies.ChargeCopies(c, &sent, more)
	}
	if err != nil {
		return protocol.Body{}, h.bodyError(ctx, err)
	}
	return sent, nil
}

// cameAs says of which type a body came.
func cameAs(contentType []byte) string {
	if len(contentType) == 0 {
		return "without a Content-Type"
	}
	return "as " + request.Show(contentType)
}

// WantsStream implements protocol.Host.
func (h *host) WantsStream(ctx *fasthttp.RequestCtx, iterates bool) bool {
	return negotiate.WantsStream(&ctx.Request.Header, iterates)
}

// ReadForm implements protocol.Host.
func (h *host) ReadForm(ctx *fasthttp.RequestCtx) (protocol.Form, *protocol.Error) {
	header := &ctx.Request.Header
	kind, encoding, err := negotiate.FormOf(header)
	if err != nil || kind != request.FormData {
		return protocol.Form{}, protocol.Errorf(protocol.BadInput, "Send the body as multipart/form-data, not %s",
			cameAs(header.ContentType()))
	}
	in, err := h.s.bodies.Open(ctx, encoding)
	if err != nil {
		return protocol.Form{}, h.bodyError(ctx, err)
	}
	defer in.Close()
	files := &request.Files{New: h.s.root.to.Model().NewAttachments}
	room := &request.Room{Budget: h.s.opt.Memory, From: in.Raw.Conn}
	f := request.Form{Plain: true}
	err = f.Read(in, string(header.ContentType()), files, room)
	if failed := in.Failed(); err != nil && failed != nil {
		err = failed // the body's error, not the form's
	}
	if err != nil {
		files.Close()
		room.Free()
		return protocol.Form{}, h.bodyError(ctx, err)
	}
	return protocol.Form{
		Fields: f.Fields, Attachments: files.Attachments,
		Body: body.New(nil, room.Bytes(), nil, h.s.opt.Memory),
	}, nil
}

func (h *host) readAny(ctx *fasthttp.RequestCtx, copies int64) (body.Body, error) {
	encoding, err := negotiate.AnyCodingIn(&ctx.Request.Header)
	switch {
	case err != nil:
		return body.Body{}, err
	case encoding == negotiate.Plain && len(ctx.Request.Header.Peek(protocol.BinaryHeader)) > 0:
		// the protocol reports what is wrong with it
		head, _ := strconv.Atoi(string(ctx.Request.Header.Peek(protocol.BinaryHeader)))
		return h.s.bodies.TakeIn(ctx, body.Room{Pool: &h.protocols.shared, Head: head, Copies: copies})
	case encoding == negotiate.Plain:
		return h.s.bodies.TakeIn(ctx, body.Room{Copies: copies})
	}
	in, err := h.s.bodies.Open(ctx, encoding)
	if err != nil {
		return body.Body{}, err
	}
	defer in.Close()
	return h.s.bodies.ReadAll(in)
}

// bodyError turns the error of a body that was not read into one of the protocols, and sees to its connection.
func (h *host) bodyError(ctx *fasthttp.RequestCtx, err error) *protocol.Error {
	var (
		broken *body.BrokenError
		bad    *request.Error
		media  *negotiate.MediaError
	)
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		body.Leave(ctx)
		return h.s.tooLargeError()
	case errors.Is(err, transport.ErrSlow):
		body.Leave(ctx)
		err = memory.ErrFull
	case errors.As(err, &broken):
		body.Leave(ctx)
		return protocol.Errorf(protocol.BadInput, "The body did not arrive completely")
	case errors.As(err, &bad), errors.As(err, &media):
		return protocol.Errorf(protocol.BadInput, "%v", err)
	case errors.Is(err, memory.ErrFull), errors.Is(err, memory.ErrTooLarge):
		body.LeaveUnread(ctx)
	}
	return protocol.ErrorOf(err)
}

// refuseTooLarge answers a request whose body is too large to be read.
func (s *Server) refuseTooLarge(ctx *fasthttp.RequestCtx) {
	if s.protocols.refuseFor(ctx, s.tooLargeError()) {
		body.Leave(ctx)
		return
	}
	s.out.refuse(ctx, fasthttp.ErrBodyTooLarge)
}

func (s *Server) tooLargeError() *protocol.Error {
	return &protocol.Error{Kind: protocol.TooLarge, Row: -1, Message: s.out.tooLargeText()}
}

func (h *host) Watch(ctx *fasthttp.RequestCtx, r *protocol.Run) (stop func()) {
	h.s.out.access.Named(ctx, r.ID())
	w := h.s.transport.Watch(ctx, r)
	return func() { h.s.transport.Unwatch(w) }
}

// partsKey is the key of an answer of SendParts in its context: it may be compressed, tensors in binary included.
type partsKey struct{}

// SendParts implements protocol.Host.
func (h *host) SendParts(ctx *fasthttp.RequestCtx, contentType string, parts [][]byte, made int, release func()) {
	ctx.SetUserValue(partsKey{}, true)
	ctx.Response.Header.SetContentType(contentType)
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if size <= maxReused {
		body := ctx.Response.SwapBody(nil)[:0]
		for _, part := range parts {
			body = append(body, part...)
		}
		ctx.Response.SwapBody(body)
		if release != nil {
			release()
		}
		return
	}
	if len(parts) > len(sliceBody{}.parts) { // headers before the large ones
		parts = joinSmall(parts)
	}
	if len(parts) <= len(sliceBody{}.parts) {
		body := &sliceBody{made: made, release: release}
		copy(body.parts[:], parts)
		ctx.Response.SetBodyStream(body, size)
		return
	}
	ctx.Response.SetBodyRaw(bytes.Join(parts, nil))
	if release != nil {
		release()
	}
}

// SendFile implements protocol.Host.
func (h *host) SendFile(ctx *fasthttp.RequestCtx, file *predict.OutputFile, release func()) {
	header := &ctx.Response.Header
	header.SetContentType(file.Type)
	header.Set(fasthttp.HeaderXContentTypeOptions, "nosniff") // browsers must not guess the type of a model's output
	ctx.Response.SetBodyStream(&fileBody{from: io.NewSectionReader(file.Content, 0, file.Size), release: release},
		int(file.Size))
}

// joinSmall joins neighbours that are cheaper to copy than to write one by one.
func joinSmall(parts [][]byte) [][]byte {
	var out [][]byte
	small := false // the last part of out is a joined one
	for _, part := range parts {
		if small && len(part) < maxReused {
			out[len(out)-1] = append(out[len(out)-1], part...)
			continue
		}
		if small = len(part) < maxReused; small {
			part = bytes.Clone(part)
		}
		out = append(out, part)
	}
	return out
}
