package answers

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/transport"
	"pinion/ipc/bufpool"
	"pinion/runtime/memory"
)

const (
	// FlushAt is how many bytes are gathered before they are written. JSON of at least half of it is written without a
	// copy.
	FlushAt = 16 << 10
	// ChunkHead is the room for a chunk's size line, before the chunk's bytes.
	ChunkHead = 16 + len("\r\n")
)

// Comment keeps a connection alive; clients ignore it.
const Comment = ": keep-alive\n\n"

// ErrDisconnected means that the client of a stream has disconnected, or no longer reads.
var ErrDisconnected = errors.New("the client has left")

// Chunks writes a stream to a connection: what was gathered goes out as one chunk in one call. One goroutine uses
// it, except Left and Disconnect.
type Chunks struct {
	// Buf is ChunkHead bytes of room, and then the bytes to write.
	Buf []byte
	// Tail is what follows the model's JSON; empty between two events.
	Tail []byte
	// Kept is how many bytes the renderer of the stream keeps.
	Kept int

	rest    []byte // of Buf, that TryFlush has left
	out     *Writer
	c       net.Conn
	chunked bool // HTTP/1.1; an HTTP/1.0 client reads until the connection ends
	wrote   time.Time
	timer   *time.Timer // for the comments
	watched *transport.Watch
	closed  bool
	charge  *memory.Charge // what Buf, Tail and Kept take beyond BufferCost; nil means they never did

	disconnected atomic.Bool
}

// BufferCost is how many bytes of Buf and Tail are part of the charge of a stream.
const BufferCost = 2 * FlushAt

// Open begins a stream. client is canceled if the client disconnects before End, and wake is called when a comment may be due.
func (w *Chunks) Open(ctx *fasthttp.RequestCtx, out *Writer, client transport.Canceler, wake func()) {
	w.out, w.c, w.chunked, w.wrote = out, ctx.Conn(), ctx.Request.Header.IsHTTP11(), time.Now()
	w.Buf = bufpool.Get(bufpool.Min)[:ChunkHead]
	w.watched = out.Transport.Watch(ctx, client)
	w.timer = time.AfterFunc(out.Silence, wake)
}

// Left reports whether the client has disconnected.
func (w *Chunks) Left() bool { return w.disconnected.Load() }

// Disconnect notes that the client has disconnected, and interrupts a blocked write. Safe from any goroutine while the
// connection is watched.
func (w *Chunks) Disconnect() {
	w.disconnected.Store(true)
	if c, ok := w.c.(*transport.Conn); ok {
		c.Abort()
	}
}

// ChargeAhead charges so many bytes that are rendered next, until the next write.
func (w *Chunks) ChargeAhead(bytes int) error {
	if bytes <= BufferCost {
		return nil
	}
	w.Kept += bytes
	defer func() { w.Kept -= bytes }()
	return w.chargeBuffers()
}

// chargeBuffers charges what the buffers take, before a write that may last long.
func (w *Chunks) chargeBuffers() error {
	more := int64(max(0, cap(w.Buf)+cap(w.Tail)+w.Kept-BufferCost))
	if w.charge == nil {
		if more == 0 {
			return nil
		}
		w.charge = &memory.Charge{}
		w.charge.Open(w.out.Memory)
	}
	if grown := more - w.charge.Bytes(); grown <= 0 {
		w.charge.Resize(more)
	} else if !w.charge.Grow(grown) {
		return memory.ErrFull
	}
	return nil
}

// End ends the watch and the comments; false means it was ended before.
func (w *Chunks) End() bool {
	if w.closed {
		return false
	}
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.out.Transport.Unwatch(w.watched)
	bufpool.Put(w.Buf)
	w.Buf = nil
	if w.charge != nil {
		w.charge.Release()
	}
	return true
}

// Silent reports whether nothing was written for so long that a comment is due, and sets the timer for the next one.
func (w *Chunks) Silent() bool {
	most, silent := w.out.Silence, time.Since(w.wrote)
	if silent >= most {
		w.timer.Reset(most)
		return true
	}
	w.timer.Reset(most - silent)
	return false
}

// SupportsBodyWriteTo lets fasthttp call WriteTo rather than Read (fasthttp.BodyWriterTo).
func (w *Chunks) SupportsBodyWriteTo() bool { return true }

// Read is never called.
func (w *Chunks) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Stream is a stream as the body of a response. fasthttp calls Close if it could not write even the header; else
// WriteTo has called it.
type Stream interface {
	io.ReadCloser
	io.WriterTo
	WriteHead(head []byte) bool
}

// SendEvents answers with a stream, which is closed when it has ended.
func (w *Writer) SendEvents(ctx *fasthttp.RequestCtx, body Stream, contentType string) {
	ctx.SetStatusCode(fasthttp.StatusOK)
	h := &ctx.Response.Header
	h.SetContentType(contentType)
	h.Set(fasthttp.HeaderCacheControl, "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx would otherwise buffer the events
	if ctx.Request.Header.IsHTTP11() {
		ctx.Response.ImmediateHeaderFlush = true // flushes earlier answers too, so that WriteTo may bypass the buffer
		ctx.Response.SetBodyStream(body, -1)
		return
	}
	// fasthttp sends a body without a length only in chunks, which HTTP/1.0 lacks.
	h.SetContentLength(-2)
	head := append([]byte(nil), h.Header()...)
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(net.Conn) {
		defer body.Close()
		defer w.LogRecovered()
		if body.WriteHead(head) {
			_, _ = body.WriteTo(nil) // the connection ends either way
		}
	})
}

// WriteHead writes the head of an answer to an HTTP/1.0 client.
func (w *Chunks) WriteHead(head []byte) bool {
	if c, ok := w.c.(*transport.Conn); ok {
		c.ResetWriteDeadline() // fasthttp has removed the deadlines
	}
	_, err := w.c.Write(head)
	return err == nil
}

// Add appends a model's JSON and the tail. If they are large they are written without a copy, in one chunk with the
// bytes before them.
func (w *Chunks) Add(json []byte) error {
	if len(json)+len(w.Tail) >= FlushAt/2 {
		return w.write(json)
	}
	w.Buf = append(append(w.Buf, json...), w.Tail...)
	w.Tail = w.Tail[:0]
	return nil
}

// Flush writes what is gathered.
func (w *Chunks) Flush() error {
	if len(w.Buf) == ChunkHead {
		return nil
	}
	return w.write(nil)
}

// CanTry reports whether TryFlush may be called.
func (w *Chunks) CanTry() bool {
	c, ok := w.c.(*transport.Conn)
	return ok && c.CanTry()
}

// Finished reports whether TryFlush has left nothing.
func (w *Chunks) Finished() bool { return len(w.rest) == 0 }

// TryFlush is Flush as far as the connection takes it at once. If it returns false, Finish must be called
// next. Tail must be empty.
func (w *Chunks) TryFlush() bool {
	if len(w.Buf) == ChunkHead {
		return true
	}
	begin := w.seal()
	if w.rest = w.Buf[begin+w.c.(*transport.Conn).TryWrite(w.Buf[begin:]):]; len(w.rest) > 0 {
		return false
	}
	w.wrote = time.Now()
	w.Buf = w.Buf[:ChunkHead]
	return true
}

// Finish writes what TryFlush has left.
func (w *Chunks) Finish() error {
	if len(w.rest) == 0 {
		return nil
	}
	_, err := w.c.Write(w.rest)
	w.rest, w.wrote = nil, time.Now()
	w.Buf = w.Buf[:ChunkHead]
	return err
}

// seal makes a chunk of Buf, and returns where it begins.
func (w *Chunks) seal() (begin int) {
	if !w.chunked {
		return ChunkHead
	}
	begin = putChunkSize(w.Buf, len(w.Buf)-ChunkHead)
	w.Buf = append(w.Buf, "\r\n"...)
	return begin
}

// write writes the gathered bytes, json and the tail as one chunk, and begins the next one.
func (w *Chunks) write(json []byte) error {
	if w.Left() {
		return ErrDisconnected
	}
	begin := ChunkHead
	if w.chunked {
		begin = putChunkSize(w.Buf, len(w.Buf)-ChunkHead+len(json)+len(w.Tail))
		if len(json)+len(w.Tail) > 0 {
			w.Tail = append(w.Tail, "\r\n"...)
		} else {
			w.Buf = append(w.Buf, "\r\n"...)
		}
	}
	if err := w.chargeBuffers(); err != nil {
		return err
	}
	for _, part := range [...][]byte{w.Buf[begin:], json, w.Tail} {
		if len(part) == 0 {
			continue
		}
		if _, err := w.c.Write(part); err != nil {
			return err
		}
	}
	w.wrote = time.Now()
	w.Buf, w.Tail = w.Buf[:ChunkHead], w.Tail[:0]
	if cap(w.Buf)+cap(w.Tail) > BufferCost { // large logs and metrics grew them
		w.Buf, w.Tail = make([]byte, ChunkHead, FlushAt), nil
	}
	return nil
}

// putChunkSize writes a chunk's size line so that it ends at ChunkHead, and returns its offset.
func putChunkSize(buf []byte, size int) int {
	var text [16]byte
	digits := strconv.AppendUint(text[:0], uint64(size), 16)
	begin := ChunkHead - len("\r\n") - len(digits)
	copy(buf[begin:], digits)
	copy(buf[ChunkHead-len("\r\n"):], "\r\n")
	return begin
}

// OneLine removes line breaks, which would end a data line. In JSON they can only be space between tokens. JSON without
// any, which workers send, is not copied.
func OneLine(json []byte) []byte {
	if bytes.IndexByte(json, '\n') < 0 && bytes.IndexByte(json, '\r') < 0 {
		return json
	}
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, json)
}
