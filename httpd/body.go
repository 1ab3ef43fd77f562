package httpd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/valyala/fasthttp"

	"pinion/httpd/negotiate"
	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// maxDrained is how many bytes of an unwanted body are read, so that its connection can be reused.
const maxDrained = 256 << 10

// bodyError means that the body did not arrive completely.
type bodyError struct{ cause error }

func (e *bodyError) Error() string { return "read the body: " + e.cause.Error() }

// Unwrap returns the connection's error.
func (e *bodyError) Unwrap() error { return e.cause }

// received is a request's complete body, in memory or a file that fasthttp does not reuse.
type received struct {
	data    []byte
	charged int64           // bytes of the memory budget; the caller frees them
	disk    *memory.Mapping // the file that holds data; nil means data is memory
	shared  *memory.Shared  // the memory that holds data, if a worker can read it too
	copies  int64           // bytes of charged that are for copies
}

// bodyRoom says where a body is read to.
type bodyRoom struct {
	pool   *memory.SharedPool // used if it is not nil and has some
	head   int                // what follows so many bytes is aligned there
	copies int64              // how many copies of the body are charged with it
}

// read reads the envelope of a prediction request into req. typed means that the client declared the body as JSON.
func (b received) read(req *predict.Request, typed bool) error {
	err := request.ReadJSON(req, b.data, typed)
	req.Charged = b.charged
	if b.disk != nil {
		req.Disk = b.disk
	} else {
		req.Body = b.data
	}
	return err
}

// takeBody reads the whole body, into a file if it is large and the memory budget has no room. headerReceived has
// checked its size. The error is fasthttp.ErrBodyTooLarge, a *bodyError or a *request.RoomError.
func (s *Server) takeBody(ctx *fasthttp.RequestCtx) (received, error) {
	return s.takeBodyIn(ctx, bodyRoom{})
}

func (s *Server) takeBodyIn(ctx *fasthttp.RequestCtx, in bodyRoom) (received, error) {
	body, err := s.readBody(ctx, in)
	if err != nil {
		return body, err
	}
	// Last, because a request that waits for room for a body must hold no other charge.
	c, _ := ctx.Conn().(*transport.Conn)
	if err := c.ChargeInUse(&ctx.Request.Header); err != nil {
		s.drop(body)
		return received{}, err
	}
	return body, nil
}

// drop frees a body that no prediction takes.
func (s *Server) drop(body received) {
	if body.disk != nil {
		body.disk.Unmap(true)
	}
	if body.shared != nil {
		body.shared.Free(true)
	}
	s.opt.Memory.Free(body.charged)
}

// readBody reads the body for takeBodyIn.
func (s *Server) readBody(ctx *fasthttp.RequestCtx, in bodyRoom) (received, error) {
	c, _ := ctx.Conn().(*transport.Conn)
	stream := ctx.RequestBodyStream()
	if stream == nil {
		return received{data: append([]byte(nil), ctx.Request.Body()...)}, nil
	}
	size := int64(ctx.Request.Header.ContentLength())
	if size < 0 {
		c.BeginArrival()
		defer c.EndArrival()
		return s.readCharged(&bodyReader{from: stream, conn: c, size: size, left: s.opt.MaxBody}, c)
	}
	if size >= memory.MinCharge {
		c.BeginArrival()
		defer c.EndArrival()
	}
	body, err := s.readSized(stream, c, size, in)
	if err == nil {
		_ = ctx.Request.CloseBodyStream() // read to its end; see finishBody
	}
	return body, err
}

// readCharged reads a body of unknown length into memory that is charged. When the budget has no room, the body moves
// to disk.
func (s *Server) readCharged(r io.Reader, from *transport.Conn) (received, error) {
	room := request.Room{Budget: s.opt.Memory, From: from}
	data, err := room.ReadAll(r)
	if err == nil {
		return received{data: data, charged: room.Bytes()}, nil
	}
	defer room.Free()
	if full := (*request.RoomError)(nil); !errors.As(err, &full) {
		return received{}, err
	}
	file, failed := s.spool(0)
	if failed != nil || file == nil {
		return received{}, cmp.Or(failed, err)
	}
	disk, err := toDisk(file, data, r)
	if err != nil {
		return received{}, err
	}
	return received{data: disk.Data, disk: disk}, nil
}

// bodyReader reads a body and classifies its errors: fasthttp.ErrBodyTooLarge after left bytes, else a *bodyError.
type bodyReader struct {
	from io.Reader
	conn *transport.Conn // nil means not one of our connections
	size int64           // as announced; negative means not announced
	read int64
	left int64
	err  error // the first error, which every later Read returns
}

func (r *bodyReader) Read(b []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.from.Read(b)
	r.read += int64(n)
	if r.left -= int64(n); r.left < 0 {
		r.err = fasthttp.ErrBodyTooLarge
		return 0, r.err
	}
	switch {
	case err == io.EOF && (r.read < r.size || r.conn != nil && !r.conn.Whole()):
		err = &bodyError{io.ErrUnexpectedEOF}
	case err != nil && err != io.EOF:
		err = &bodyError{err}
	}
	r.err = err
	return n, err
}

// decodedBody reads a body as a stream, and inflates it where the client compressed it.
type decodedBody struct {
	raw      *bodyReader // the bytes on the wire
	flat     io.Reader   // the inflated bytes; raw itself where the body is not compressed
	encoding negotiate.Coding
	left     int64  // how many inflated bytes may still come
	done     func() // returns the inflater
	err      error  // the first error, which every later Read returns
}

// open begins to read the body of ctx. The caller closes it.
func (s *Server) open(ctx *fasthttp.RequestCtx, encoding negotiate.Coding) (*decodedBody, error) {
	size := int64(ctx.Request.Header.ContentLength())
	c, _ := ctx.Conn().(*transport.Conn)
	raw := &bodyReader{from: ctx.RequestBodyStream(), conn: c, size: size, left: s.opt.MaxBody}
	if raw.from == nil {
		raw.from, raw.size = bytes.NewReader(ctx.Request.Body()), -1
	}
	c.BeginArrival()
	in := &decodedBody{raw: raw, flat: raw, encoding: encoding, left: s.opt.MaxBody, done: func() {}}
	if encoding != negotiate.Plain {
		cost := int64(0)
		if encoding == negotiate.Zstd {
			cost = inflateCost
		}
		if err := s.awaitRoom(c, cost); err != nil {
			c.EndArrival()
			return nil, err
		}
		c.Hold(cost, -1)
		flat, done, err := s.inflaters.open(encoding, raw)
		if err != nil {
			c.EndArrival()
			s.opt.Memory.Free(cost)
			return nil, in.explain(err)
		}
		in.flat, in.done = flat, func() { done(); s.opt.Memory.Free(cost) }
	}
	if err := c.ChargeInUse(&ctx.Request.Header); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

func (in *decodedBody) Read(b []byte) (int, error) {
	if in.err != nil {
		return 0, in.err
	}
	n, err := in.flat.Read(b)
	if in.left -= int64(n); in.left < 0 {
		n, err = 0, fasthttp.ErrBodyTooLarge
	}
	if err != nil && err != io.EOF {
		err = in.explain(err)
	}
	in.err = err
	return n, err
}

// explain returns the cause of a failed read: the connection, the size, or invalid compressed data.
func (in *decodedBody) explain(err error) error {
	switch {
	case in.raw.err != nil && in.raw.err != io.EOF:
		return in.raw.err
	case in.encoding == negotiate.Plain, errors.Is(err, fasthttp.ErrBodyTooLarge):
		return err
	}
	return &request.Error{Reason: fmt.Sprintf("The body is not valid %s, as its Content-Encoding says: %v", in.encoding,
		err)}
}

// failed returns the error that ended reading before the body's end, or nil.
func (in *decodedBody) failed() error {
	if in.err == io.EOF {
		return nil
	}
	return in.err
}

// close returns the inflater and its memory.
func (in *decodedBody) close() {
	in.raw.conn.EndArrival()
	in.done()
}

// finishBody keeps the rest of a body from being parsed as the next request: it discards the rest, or ends the
// connection.
func (s *Server) finishBody(ctx *fasthttp.RequestCtx) {
	stream := ctx.RequestBodyStream()
	if stream == nil || ctx.Response.ConnectionClose() {
		return
	}
	n, err := io.CopyN(io.Discard, stream, maxDrained)
	if err == io.EOF || err == nil && n == int64(ctx.Request.Header.ContentLength()) {
		_ = ctx.Request.CloseBodyStream()
		return
	}
	s.leave(ctx)
}

// leaveUnread lets the server answer before a body that is still arriving, which may be large, was received.
func (s *Server) leaveUnread(ctx *fasthttp.RequestCtx) {
	if ctx.RequestBodyStream() != nil {
		s.leave(ctx)
	}
}

// leave closes the connection after the answer. The client can read the answer even while it is still sending.
func (s *Server) leave(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	if c, ok := ctx.Conn().(*transport.Conn); ok {
		c.Linger()
	}
}
