package host

import (
	"errors"
	"strconv"

	"github.com/valyala/fasthttp"

	"pinion/httpd/access"
	"pinion/httpd/answers"
	"pinion/httpd/body"
	"pinion/httpd/native"
	"pinion/httpd/negotiate"
	"pinion/httpd/place"
	"pinion/httpd/protocol"
	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// Host implements protocol.Host.
type Host struct {
	Front *native.Front
	// Placer places the requests for the model of that name, or those for the default one if there is none of it.
	Placer func(model string) *place.Placer
	// Control reports whether a client may load and unload models.
	Control    func(ctx *fasthttp.RequestCtx) bool
	Generation func(metrics.Generation)
	Tokens     *access.Tokens // nil means none are required
	TLS        bool           // is spoken with clients
	shared     memory.SharedPool
}

// maxIdleShared is how many bytes of shared memory that no request uses are kept at most.
const maxIdleShared = 64 << 20

// New returns h, ready for use.
func New(h *Host) *Host {
	h.shared.Idle = min(maxIdleShared, h.Front.Out.Memory.Quarter()/2)
	return h
}

// Charge implements protocol.Host.
func (h *Host) Charge(ctx *fasthttp.RequestCtx, held, bytes int64) *protocol.Error {
	c, _ := ctx.Conn().(*transport.Conn)
	if err := h.Front.Bodies.AwaitMore(c, held, bytes); err != nil {
		return protocol.ErrorOf(err)
	}
	return nil
}

// OnGeneration implements protocol.Host.
func (h *Host) OnGeneration() func(metrics.Generation) { return h.Generation }

// Sampled implements protocol.Host.
func (h *Host) Sampled(ctx *fasthttp.RequestCtx) bool { return native.Sampled(ctx) }

// MayControl implements protocol.Host.
func (h *Host) MayControl(ctx *fasthttp.RequestCtx) bool { return h.Control(ctx) }

// Meta implements protocol.Host.
func (h *Host) Meta(ctx *fasthttp.RequestCtx) (request.Meta, error) { return h.Front.Meta(ctx) }

// ReadBody implements protocol.Host.
func (h *Host) ReadBody(ctx *fasthttp.RequestCtx, more int64) (protocol.Body, *protocol.Error) {
	sent, err := h.readAny(ctx, more)
	if err == nil {
		c, _ := ctx.Conn().(*transport.Conn)
		err = h.Front.Bodies.ChargeCopies(c, &sent, more)
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
func (h *Host) WantsStream(ctx *fasthttp.RequestCtx, iterates bool) bool {
	return negotiate.WantsStream(&ctx.Request.Header, iterates)
}

// ReadForm implements protocol.Host.
func (h *Host) ReadForm(ctx *fasthttp.RequestCtx) (protocol.Form, *protocol.Error) {
	header := &ctx.Request.Header
	kind, encoding, err := negotiate.FormOf(header)
	if err != nil || kind != request.FormData {
		return protocol.Form{}, protocol.Errorf(protocol.BadInput, "Send the body as multipart/form-data, not %s",
			cameAs(header.ContentType()))
	}
	in, err := h.Front.Bodies.Open(ctx, encoding)
	if err != nil {
		return protocol.Form{}, h.bodyError(ctx, err)
	}
	defer in.Close()
	files := &request.Files{New: h.Placer("").Route.Model().NewAttachments}
	room := &request.Room{Budget: h.Front.Out.Memory, From: in.Raw.Conn}
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
		Body: body.New(nil, room.Bytes(), nil, h.Front.Out.Memory),
	}, nil
}

func (h *Host) readAny(ctx *fasthttp.RequestCtx, copies int64) (body.Body, error) {
	encoding, err := negotiate.AnyCodingIn(&ctx.Request.Header)
	switch {
	case err != nil:
		return body.Body{}, err
	case encoding == negotiate.Plain && len(ctx.Request.Header.Peek(protocol.BinaryHeader)) > 0:
		// the protocol reports what is wrong with it
		head, _ := strconv.Atoi(string(ctx.Request.Header.Peek(protocol.BinaryHeader)))
		return h.Front.Bodies.TakeIn(ctx, body.Room{Pool: &h.shared, Head: head, Copies: copies})
	case encoding == negotiate.Plain:
		return h.Front.Bodies.TakeIn(ctx, body.Room{Copies: copies})
	}
	in, err := h.Front.Bodies.Open(ctx, encoding)
	if err != nil {
		return body.Body{}, err
	}
	defer in.Close()
	return h.Front.Bodies.ReadAll(in)
}

// bodyError turns the error of a body that was not read into one of the protocols, and sees to its connection.
func (h *Host) bodyError(ctx *fasthttp.RequestCtx, err error) *protocol.Error {
	var (
		broken *body.BrokenError
		bad    *request.Error
		media  *negotiate.MediaError
	)
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		body.Leave(ctx)
		return TooLarge(h.Front.Out)
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

// Watch implements protocol.Host.
func (h *Host) Watch(ctx *fasthttp.RequestCtx, r *protocol.Run) (stop func()) {
	h.Front.Out.Access.Named(ctx, r.ID())
	w := h.Front.Out.Transport.Watch(ctx, r)
	return func() { h.Front.Out.Transport.Unwatch(w) }
}

// TooLarge returns the refusal of a body that is larger than the server takes.
func TooLarge(by *answers.Writer) *protocol.Error {
	return &protocol.Error{Kind: protocol.TooLarge, Row: -1, Message: by.TooLargeText()}
}

// SendParts implements protocol.Host.
func (h *Host) SendParts(ctx *fasthttp.RequestCtx, contentType string, parts [][]byte, made int, of memory.Owner) {
	answers.Parts(ctx, contentType, parts, made, of)
}

// SendFile implements protocol.Host.
func (h *Host) SendFile(ctx *fasthttp.RequestCtx, file *predict.OutputFile, of memory.Owner) {
	answers.OutputFile(ctx, file, of)
}
