package answers

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"

	"pinion/httpd/negotiate"
)

// writer compresses an answer.
type writer interface {
	io.WriteCloser
	Reset(to io.Writer)
}

// deflaters are a pool of writers for each coding. The zero value is ready.
type deflaters [negotiate.Zstd + 1]sync.Pool

// open begins to write to to. done returns the writer to the pool.
func (p *deflaters) open(c negotiate.Coding, to io.Writer) (w writer, done func()) {
	w, _ = p[c].Get().(writer)
	if w == nil {
		// The fastest levels, because the client waits. The options are valid, so there is no error.
		switch c {
		case negotiate.Zstd:
			w, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
				zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
		case negotiate.Deflate:
			w, _ = zlib.NewWriterLevel(nil, zlib.BestSpeed)
		default:
			w, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed)
		}
	}
	w.Reset(to)
	return w, func() {
		w.Reset(nil)
		p[c].Put(w)
	}
}

// MinCompressed is the least size of a compressed answer in bytes: a smaller one fits into one packet.
const MinCompressed = 1 << 10

// squeezeCost is about how many bytes a writer and its buffers take, which a client keeps that reads slowly.
const squeezeCost = 2 << 20

// compress compresses the answer if it is large enough and the client accepts it. Event streams are never compressed:
// an event must not wait in a compressor for the next.
func (w *Writer) compress(ctx *fasthttp.RequestCtx, asked []byte) {
	h := &ctx.Response.Header
	size := h.ContentLength()
	if !ctx.Response.IsBodyStream() {
		size = len(ctx.Response.Body())
	}
	if size < MinCompressed || len(h.ContentEncoding()) > 0 {
		return
	}
	codings := negotiate.CodingOf
	if ctx.UserValue(partsKey{}) != nil {
		codings = negotiate.AnyCodingOf
	} else if !compressible(h.ContentType()) {
		return
	}
	negotiate.Vary(h, fasthttp.HeaderAcceptEncoding)
	c := negotiate.BestCoding(asked, codings)
	if c == negotiate.Plain {
		return
	}
	if ctx.Response.IsBodyStream() {
		big, ok := ctx.Response.BodyStream().(*sliceBody)
		if !ok || !ctx.Request.Header.IsHTTP11() { // the length is unknown, so chunks are required
			return
		}
		if !w.Memory.Take(squeezeCost, squeezeCost) {
			return
		}
		body := &squeezed{from: big.move()}
		to, done := w.deflaters.open(c, &body.out)
		body.to, body.done = to, func() { done(); w.Memory.Free(squeezeCost) }
		ctx.Response.SetBodyStream(body, -1)
		h.SetContentEncoding(c.String())
		return
	}
	h.SetContentEncoding(c.String())
	var out bytes.Buffer
	out.Grow(size / 2)
	to, done := w.deflaters.open(c, &out)
	_, _ = to.Write(ctx.Response.Body()) // into memory
	_ = to.Close()
	done()
	ctx.Response.SetBodyRaw(out.Bytes())
}

// compressible reports whether content of that type gets smaller.
func compressible(contentType []byte) bool {
	t, _, _ := bytes.Cut(contentType, []byte{';'})
	switch t = bytes.ToLower(negotiate.Trim(t)); string(t) {
	case negotiate.TypeJSON, negotiate.TypeMsgPack, "image/svg+xml", "application/javascript":
		return true
	case negotiate.TypeEventStream:
		return false
	}
	return bytes.HasPrefix(t, []byte("text/"))
}

// squeezed is a body that is compressed while it is read.
type squeezed struct {
	from  *sliceBody
	to    writer // writes to out
	done  func()
	out   bytes.Buffer
	piece []byte
	ended bool
}

func (z *squeezed) Read(b []byte) (int, error) {
	for z.out.Len() == 0 {
		if z.ended {
			return 0, io.EOF
		}
		if z.piece == nil {
			z.piece = make([]byte, 64<<10)
		}
		n, err := z.from.Read(z.piece)
		if _, err := z.to.Write(z.piece[:n]); err != nil {
			return 0, err
		}
		switch {
		case err == io.EOF:
			z.ended = true
			if err := z.to.Close(); err != nil {
				return 0, err
			}
		case err != nil:
			return 0, err
		}
	}
	return z.out.Read(b)
}

// Close returns the writer and closes the body. fasthttp calls it once.
func (z *squeezed) Close() error {
	z.done()
	return z.from.Close()
}
