package httpd

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/valyala/fasthttp"

	"pinion/runtime/spare"
)

// maxDrained is how much of a body that nobody wanted is read, so that its connection can be used again.
const maxDrained = 256 << 10

// bodyError: the body did not arrive whole. Its cause is the connection's.
type bodyError struct{ cause error }

func (e *bodyError) Error() string { return "read the body: " + e.cause.Error() }

// Unwrap is the cause.
func (e *bodyError) Unwrap() error { return e.cause }

// takeBody is the request's whole body, for keeps: it aliases nothing that fasthttp uses again. It is at most as large
// as it may be (headerReceived). charged is how many bytes of the memory budget it takes, which the caller frees. The error is
// fasthttp.ErrBodyTooLarge, a *bodyError or a *roomError.
func (s *Server) takeBody(ctx *fasthttp.RequestCtx) (body []byte, charged int64, err error) {
	stream := ctx.RequestBodyStream()
	if stream == nil {
		return append([]byte(nil), ctx.Request.Body()...), 0, nil
	}
	size := int64(ctx.Request.Header.ContentLength())
	if size < 0 {
		c, _ := ctx.Conn().(*conn)
		l := lease{budget: s.opt.Memory}
		body, err := l.readAll(&bodyReader{from: stream, conn: c, size: size, left: s.opt.MaxBody})
		if err != nil {
			l.shrink(l.bytes)
		}
		return body, l.bytes, err
	}
	charged = bodyCost(size)
	if err := s.awaitRoom(ctx, charged); err != nil {
		return nil, 0, err
	}
	if size <= spare.Max {
		body = spare.Get(int(size))
	} else {
		body = make([]byte, size) // what has not come yet costs no memory: its pages are touched as it comes
	}
	if _, err := io.ReadFull(stream, body); err != nil {
		spare.Put(body)
		s.opt.Memory.Free(charged)
		return nil, 0, &bodyError{err}
	}
	_ = ctx.Request.CloseBodyStream() // it was read to its end: see finishBody
	return body, charged, nil
}

// bodyReader reads a body and says in which way it fails: with fasthttp.ErrBodyTooLarge after left bytes, or else
// with a *bodyError.
type bodyReader struct {
	from io.Reader
	conn *conn // nil: none of ours
	size int64 // as announced; negative: not announced
	read int64
	left int64
	err  error // what it ended with
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
	case err == io.EOF && (r.read < r.size || r.conn != nil && !r.conn.whole()):
		err = &bodyError{io.ErrUnexpectedEOF}
	case err != nil && err != io.EOF:
		err = &bodyError{err}
	}
	r.err = err
	return n, err
}

// intake is a body that is read piece by piece, inflated where its client has compressed it.
type intake struct {
	raw      *bodyReader // what came
	flat     io.Reader   // what it is; raw itself where it is not compressed
	encoding coding
	left     int64  // of what it is, in bytes
	done     func() // gives back what inflates it
	err      error  // what it ended with
}

// open begins to read a body. The caller closes what it gets; it reads from ctx.
func (s *Server) open(ctx *fasthttp.RequestCtx, encoding coding) (*intake, error) {
	size := int64(ctx.Request.Header.ContentLength())
	c, _ := ctx.Conn().(*conn)
	raw := &bodyReader{from: ctx.RequestBodyStream(), conn: c, size: size, left: s.opt.MaxBody}
	if raw.from == nil {
		raw.from, raw.size = bytes.NewReader(ctx.Request.Body()), -1
	}
	in := &intake{raw: raw, flat: raw, encoding: encoding, left: s.opt.MaxBody, done: func() {}}
	if encoding != plain {
		cost := int64(0)
		if encoding == zstandard {
			cost = inflateCost
		}
		if err := s.awaitRoom(ctx, cost); err != nil {
			return nil, err
		}
		flat, done, err := s.inflaters.open(encoding, raw)
		if err != nil {
			s.opt.Memory.Free(cost)
			return nil, in.explain(err)
		}
		in.flat, in.done = flat, func() { done(); s.opt.Memory.Free(cost) }
	}
	return in, nil
}

func (in *intake) Read(b []byte) (int, error) {
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

// explain is what a failure is due to: the connection, the size, or else what inflates found.
func (in *intake) explain(err error) error {
	switch {
	case in.raw.err != nil && in.raw.err != io.EOF:
		return in.raw.err
	case in.encoding == plain, errors.Is(err, fasthttp.ErrBodyTooLarge):
		return err
	}
	return &requestError{fmt.Sprintf("The body is not valid %s, as its Content-Encoding says: %v", in.encoding, err)}
}

// failed is why reading has ended, other than at the body's end; nil: it has not.
func (in *intake) failed() error {
	if in.err == io.EOF {
		return nil
	}
	return in.err
}

// finish reads what is left after the part of the body that says something.
func (in *intake) finish() error {
	_, err := io.Copy(io.Discard, in)
	return err
}

// close gives back what reading took.
func (in *intake) close() { in.done() }

// requestError is a body that cannot be read: 400.
type requestError struct{ reason string }

func (e *requestError) Error() string { return e.reason }

// finishBody makes sure that what is left of a body is never taken for the next request: it is read and thrown
// away, or the connection ends.
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

// leaveUnread answers at once where a body is still coming, which may be large: its client need not send it first.
func (s *Server) leaveUnread(ctx *fasthttp.RequestCtx) {
	if ctx.RequestBodyStream() != nil {
		s.leave(ctx)
	}
}

// leave ends the connection after the answer, which the client can read although it may still be sending.
func (s *Server) leave(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	if c, ok := ctx.Conn().(*conn); ok {
		c.linger = true
	}
}
