package body

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/valyala/fasthttp"

	"pinion/httpd/negotiate"
	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/runtime/request"
)

// MaxDrained is how many bytes of an unwanted body are read, so that its connection can be reused.
const MaxDrained = 256 << 10

// Reader reads the bodies of requests. Safe for concurrent use.
type Reader struct {
	MaxBody int64
	Memory  *memory.Budget
	// Spool makes a file for a large body (of that size in bytes, or 0 for an unknown one) when Memory has no room for it.
	// It returns nil if the server has no disk. nil means such bodies wait, or are refused.
	Spool    func(size int64) (*os.File, error)
	Stopping <-chan struct{} // ends waits for memory

	inflaters inflaters
}

// Take reads the whole body, into a file if it is large and the memory budget has no room. Its size was checked before.
// The error is fasthttp.ErrBodyTooLarge, a *BrokenError or a *request.RoomError.
func (r *Reader) Take(ctx *fasthttp.RequestCtx) (Body, error) { return r.TakeIn(ctx, Room{}) }

// TakeIn is Take to a place.
func (r *Reader) TakeIn(ctx *fasthttp.RequestCtx, in Room) (Body, error) {
	body, err := r.readBody(ctx, in)
	if err != nil {
		return body, err
	}
	// Last, because a request that waits for room for a body must hold no other charge.
	c, _ := ctx.Conn().(*transport.Conn)
	if err := c.ChargeInUse(&ctx.Request.Header); err != nil {
		body.Release()
		return Body{}, err
	}
	return body, nil
}

// readBody reads the body for takeBodyIn.
func (r *Reader) readBody(ctx *fasthttp.RequestCtx, in Room) (Body, error) {
	c, _ := ctx.Conn().(*transport.Conn)
	stream := ctx.RequestBodyStream()
	if stream == nil {
		return New(append([]byte(nil), ctx.Request.Body()...), 0, nil, nil), nil
	}
	size := int64(ctx.Request.Header.ContentLength())
	if size < 0 {
		c.BeginArrival()
		defer c.EndArrival()
		return r.readCharged(&bodyReader{from: stream, Conn: c, size: size, left: r.MaxBody}, c)
	}
	if size >= memory.MinCharge {
		c.BeginArrival()
		defer c.EndArrival()
	}
	body, err := r.readSized(stream, c, size, in)
	if err == nil {
		_ = ctx.Request.CloseBodyStream() // read to its end; see finishBody
	}
	return body, err
}

// ReadAll reads the rest of a body, in any format.
func (r *Reader) ReadAll(in *Stream) (Body, error) {
	read, err := r.readCharged(in, in.Raw.Conn)
	return read, cmp.Or(in.Failed(), err) // the body's error before the format reader's
}

// readCharged reads a body of unknown length into memory that is charged. When the budget has no room, the body moves
// to disk.
func (r *Reader) readCharged(in io.Reader, from *transport.Conn) (Body, error) {
	room := request.Room{Budget: r.Memory, From: from}
	data, err := room.ReadAll(in)
	if err == nil {
		return New(data, room.Bytes(), nil, r.Memory), nil
	}
	defer room.Free()
	if full := (*request.RoomError)(nil); !errors.As(err, &full) {
		return Body{}, err
	}
	file, failed := r.spool(0)
	if failed != nil || file == nil {
		return Body{}, cmp.Or(failed, err)
	}
	disk, err := toDisk(file, data, in)
	if err != nil {
		return Body{}, err
	}
	return New(disk.Data, 0, disk, nil), nil
}

// bodyReader reads a body and classifies its errors: fasthttp.ErrBodyTooLarge after left bytes, else a *BrokenError.
type bodyReader struct {
	from io.Reader
	Conn *transport.Conn // nil means not one of our connections
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
	case err == io.EOF && (r.read < r.size || r.Conn != nil && !r.Conn.Whole()):
		err = &BrokenError{io.ErrUnexpectedEOF}
	case err != nil && err != io.EOF:
		err = &BrokenError{err}
	}
	r.err = err
	return n, err
}

// Stream reads a body as a stream, and inflates it where the client compressed it.
type Stream struct {
	Raw      *bodyReader // the bytes on the wire
	flat     io.Reader   // the inflated bytes; raw itself where the body is not compressed
	encoding negotiate.Coding
	left     int64  // how many inflated bytes may still come
	done     func() // returns the inflater
	err      error  // the first error, which every later Read returns
}

// Open begins to read the body of ctx. The caller closes it.
func (r *Reader) Open(ctx *fasthttp.RequestCtx, encoding negotiate.Coding) (*Stream, error) {
	size := int64(ctx.Request.Header.ContentLength())
	c, _ := ctx.Conn().(*transport.Conn)
	raw := &bodyReader{from: ctx.RequestBodyStream(), Conn: c, size: size, left: r.MaxBody}
	if raw.from == nil {
		raw.from, raw.size = bytes.NewReader(ctx.Request.Body()), -1
	}
	c.BeginArrival()
	in := &Stream{Raw: raw, flat: raw, encoding: encoding, left: r.MaxBody, done: func() {}}
	if encoding != negotiate.Plain {
		cost := int64(0)
		if encoding == negotiate.Zstd {
			cost = inflateCost
		}
		if err := r.awaitRoom(c, cost); err != nil {
			c.EndArrival()
			return nil, err
		}
		c.Hold(cost, -1)
		flat, done, err := r.inflaters.open(encoding, raw)
		if err != nil {
			c.EndArrival()
			r.Memory.Free(cost)
			return nil, in.explain(err)
		}
		in.flat, in.done = flat, func() { done(); r.Memory.Free(cost) }
	}
	if err := c.ChargeInUse(&ctx.Request.Header); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

func (in *Stream) Read(b []byte) (int, error) {
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
func (in *Stream) explain(err error) error {
	switch {
	case in.Raw.err != nil && in.Raw.err != io.EOF:
		return in.Raw.err
	case in.encoding == negotiate.Plain, errors.Is(err, fasthttp.ErrBodyTooLarge):
		return err
	}
	return &request.Error{Reason: fmt.Sprintf("The body is not valid %s, as its Content-Encoding says: %v", in.encoding,
		err)}
}

// Failed returns the error that ended reading before the body's end, or nil.
func (in *Stream) Failed() error {
	if in.err == io.EOF {
		return nil
	}
	return in.err
}

// Close returns the inflater and its memory.
func (in *Stream) Close() {
	in.Raw.Conn.EndArrival()
	in.done()
}

// Finish keeps the rest of a body from being parsed as the next request: it discards the rest, or ends the
// connection.
func Finish(ctx *fasthttp.RequestCtx) {
	stream := ctx.RequestBodyStream()
	if stream == nil || ctx.Response.ConnectionClose() {
		return
	}
	n, err := io.CopyN(io.Discard, stream, MaxDrained)
	if err == io.EOF || err == nil && n == int64(ctx.Request.Header.ContentLength()) {
		_ = ctx.Request.CloseBodyStream()
		return
	}
	Leave(ctx)
}

// LeaveUnread lets the server answer before a body that is still arriving, which may be large, was received.
func LeaveUnread(ctx *fasthttp.RequestCtx) {
	if ctx.RequestBodyStream() != nil {
		Leave(ctx)
	}
}

// Leave closes the connection after the answer. The client can read the answer even while it is still sending.
func Leave(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	if c, ok := ctx.Conn().(*transport.Conn); ok {
		c.Linger()
	}
}
