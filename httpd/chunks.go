package httpd

import (
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
	// flushAt is how many bytes are gathered before they are written. JSON of at least half of it is written without a
	// copy.
	flushAt = 16 << 10
	// chunkHead is the room for a chunk's size line, before the chunk's bytes.
	chunkHead = 16 + len("\r\n")
)

// errDisconnected means that the client of a stream has disconnected, or no longer reads.
var errDisconnected = errors.New("the client has left")

// chunkWriter writes a stream to a connection: what was gathered goes out as one chunk in one call. One goroutine uses
// it, except disconnected and abort.
type chunkWriter struct {
	c       net.Conn
	chunked bool   // HTTP/1.1; an HTTP/1.0 client reads until the connection ends
	buf     []byte // chunkHead bytes of room, then the bytes to write
	tail    []byte // what follows the model's JSON; empty between two events
	wrote   time.Time
	timer   *time.Timer // for the comments
	watched *transport.Watch
	closed  bool
	memory  *memory.Budget
	kept    int            // bytes that whoever renders the stream keeps
	charge  *memory.Charge // what buf, tail and kept take beyond bufferCost; nil means they never did

	disconnected atomic.Bool
}

// bufferCost is how many bytes of buf and tail are part of the charge of a stream.
const bufferCost = 2 * flushAt

func (s *answers) newChunkWriter(ctx *fasthttp.RequestCtx) chunkWriter {
	return chunkWriter{
		c: ctx.Conn(), chunked: ctx.Request.Header.IsHTTP11(), buf: bufpool.Get(bufpool.Min)[:chunkHead], wrote: time.Now(),
		memory: s.opt.Memory,
	}
}

// chargeAhead charges so many bytes that are rendered next, until the next write.
func (w *chunkWriter) chargeAhead(bytes int) error {
	if bytes <= bufferCost {
		return nil
	}
	w.kept += bytes
	defer func() { w.kept -= bytes }()
	return w.chargeBuffers()
}

// chargeBuffers charges what the buffers take, before a write that may last long.
func (w *chunkWriter) chargeBuffers() error {
	more := int64(max(0, cap(w.buf)+cap(w.tail)+w.kept-bufferCost))
	if w.charge == nil {
		if more == 0 {
			return nil
		}
		w.charge = &memory.Charge{}
		w.charge.Open(w.memory)
	}
	if grown := more - w.charge.Bytes(); grown <= 0 {
		w.charge.Resize(more)
	} else if !w.charge.Grow(grown) {
		return memory.ErrFull
	}
	return nil
}

// close ends the watch and the comments; false means it was closed before.
func (w *chunkWriter) close(by *transport.Transport) bool {
	if w.closed {
		return false
	}
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
	by.Unwatch(w.watched)
	bufpool.Put(w.buf)
	w.buf = nil
	if w.charge != nil {
		w.charge.Release()
	}
	return true
}

// silent reports whether nothing was written for so long that a comment is due, and sets the timer for the next one.
func (w *chunkWriter) silent(most time.Duration) bool {
	silent := time.Since(w.wrote)
	if silent >= most {
		w.timer.Reset(most)
		return true
	}
	w.timer.Reset(most - silent)
	return false
}

// SupportsBodyWriteTo lets fasthttp call WriteTo rather than Read (fasthttp.BodyWriterTo).
func (w *chunkWriter) SupportsBodyWriteTo() bool { return true }

// Read is never called.
func (w *chunkWriter) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// eventBody is a stream as the body of a response. fasthttp calls Close if it could not write even the header; else
// WriteTo has called it.
type eventBody interface {
	io.ReadCloser
	io.WriterTo
	writeHead(head []byte) bool
}

// sendEvents answers with a stream, which is closed when it has ended.
func (s *answers) sendEvents(ctx *fasthttp.RequestCtx, body eventBody, contentType string) {
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
		defer s.logRecovered()
		if body.writeHead(head) {
			_, _ = body.WriteTo(nil) // the connection ends either way
		}
	})
}

// writeHead writes the head of an answer to an HTTP/1.0 client.
func (w *chunkWriter) writeHead(head []byte) bool {
	if c, ok := w.c.(*transport.Conn); ok {
		c.ResetWriteDeadline() // fasthttp has removed the deadlines
	}
	_, err := w.c.Write(head)
	return err == nil
}

// abort interrupts a blocked write. Safe from any goroutine while the connection is watched.
func (w *chunkWriter) abort() {
	if c, ok := w.c.(*transport.Conn); ok {
		c.Abort()
	}
}

// add appends a model's JSON and the tail. If they are large they are written without a copy, in one chunk with the
// bytes before them.
func (w *chunkWriter) add(json []byte) error {
	if len(json)+len(w.tail) >= flushAt/2 {
		return w.write(json)
	}
	w.buf = append(append(w.buf, json...), w.tail...)
	w.tail = w.tail[:0]
	return nil
}

func (w *chunkWriter) flush() error {
	if len(w.buf) == chunkHead {
		return nil
	}
	return w.write(nil)
}

// write writes the gathered bytes, json and the tail as one chunk, and begins the next one.
func (w *chunkWriter) write(json []byte) error {
	if w.disconnected.Load() {
		return errDisconnected
	}
	begin := chunkHead
	if w.chunked {
		begin = putChunkSize(w.buf, len(w.buf)-chunkHead+len(json)+len(w.tail))
		if len(json)+len(w.tail) > 0 {
			w.tail = append(w.tail, "\r\n"...)
		} else {
			w.buf = append(w.buf, "\r\n"...)
		}
	}
	if err := w.chargeBuffers(); err != nil {
		return err
	}
	for _, part := range [...][]byte{w.buf[begin:], json, w.tail} {
		if len(part) == 0 {
			continue
		}
		if _, err := w.c.Write(part); err != nil {
			return err
		}
	}
	w.wrote = time.Now()
	w.buf, w.tail = w.buf[:chunkHead], w.tail[:0]
	if cap(w.buf)+cap(w.tail) > bufferCost { // large logs and metrics grew them
		w.buf, w.tail = make([]byte, chunkHead, flushAt), nil
	}
	return nil
}

// putChunkSize writes a chunk's size line so that it ends at chunkHead, and returns its offset.
func putChunkSize(buf []byte, size int) int {
	var text [16]byte
	digits := strconv.AppendUint(text[:0], uint64(size), 16)
	begin := chunkHead - len("\r\n") - len(digits)
	copy(buf[begin:], digits)
	copy(buf[chunkHead-len("\r\n"):], "\r\n")
	return begin
}
