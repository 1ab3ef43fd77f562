package httpd

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"
)

// coding is a content coding (RFC 9110) that this server reads and writes. The greater is the better one. deflated is
// for clients of other protocols only: Triton's has it.
type coding uint8

const (
	plain coding = iota
	deflated
	gzipped
	zstandard
)

// String returns its name in headers.
func (c coding) String() string {
	switch c {
	case deflated:
		return "deflate"
	case gzipped:
		return "gzip"
	case zstandard:
		return "zstd"
	}
	return "identity"
}

// readableCodings is the Accept-Encoding for request bodies.
const readableCodings = "gzip, zstd"

// maxWindow bounds the window of a zstd body, in bytes. RFC 8878 recommends at least 8 MiB; the reference
// implementation exceeds it only with --ultra and --long.
const maxWindow = 8 << 20

// codingOf returns the coding that a Content-Encoding names; false means an unknown one.
func codingOf(header []byte) (coding, bool) {
	switch name := bytes.ToLower(trim(header)); string(name) {
	case "", "identity":
		return plain, true
	case "gzip", "x-gzip":
		return gzipped, true
	case "zstd":
		return zstandard, true
	}
	return plain, false
}

// anyCodingOf is codingOf for other protocols' requests and answers.
func anyCodingOf(header []byte) (coding, bool) {
	if bytes.EqualFold(trim(header), []byte("deflate")) {
		return deflated, true
	}
	return codingOf(header)
}

// inflater reads a compressed body.
type inflater interface {
	io.Reader
	Reset(from io.Reader) error
}

// inflaters are a pool of readers for each coding. The zero value is ready.
type inflaters [zstandard + 1]sync.Pool

// open begins to read from. done returns the reader to the pool.
func (p *inflaters) open(c coding, from io.Reader) (r io.Reader, done func(), err error) {
	z, _ := p[c].Get().(inflater)
	if z == nil {
		if z, err = newInflater(c); err != nil {
			return nil, nil, err
		}
	}
	if err := z.Reset(from); err != nil {
		return nil, nil, err
	}
	return z, func() {
		if c == zstandard {
			_ = z.Reset(nil) // drops from
		}
		p[c].Put(z)
	}, nil
}

func newInflater(c coding) (inflater, error) {
	switch c {
	case deflated:
		return new(zlibReader), nil
	case gzipped:
		return new(gzip.Reader), nil
	default: // a concurrency of 1 starts no goroutine
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
	}
}

// zlibReader is a reader that its first Reset makes: the package has none that waits for its header.
type zlibReader struct{ io.ReadCloser }

func (z *zlibReader) Reset(from io.Reader) (err error) {
	if z.ReadCloser == nil {
		z.ReadCloser, err = zlib.NewReader(from)
		return err
	}
	return z.ReadCloser.(zlib.Resetter).Reset(from, nil)
}

// writer compresses an answer.
type writer interface {
	io.WriteCloser
	Reset(to io.Writer)
}

// deflaters are a pool of writers for each coding. The zero value is ready.
type deflaters [zstandard + 1]sync.Pool

// open begins to write to to. done returns the writer to the pool.
func (p *deflaters) open(c coding, to io.Writer) (w writer, done func()) {
	w, _ = p[c].Get().(writer)
	if w == nil {
		// The fastest levels, because the client waits. The options are valid, so there is no error.
		switch c {
		case zstandard:
			w, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
				zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
		case deflated:
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

// minCompressed is the least size of a compressed answer in bytes: a smaller one fits into one packet.
const minCompressed = 1 << 10

// squeezeCost is about how many bytes a writer and its buffers take, which a client keeps that reads slowly.
const squeezeCost = 2 << 20

// compress compresses the answer if it is large enough and the client accepts it. Event streams are never compressed:
// an event must not wait in a compressor for the next.
func (s *Server) compress(ctx *fasthttp.RequestCtx, asked []byte) {
	h := &ctx.Response.Header
	size := h.ContentLength()
	if !ctx.Response.IsBodyStream() {
		size = len(ctx.Response.Body())
	}
	if size < minCompressed || len(h.ContentEncoding()) > 0 {
		return
	}
	codings := codingOf
	if ctx.UserValue(partsKey{}) != nil {
		codings = anyCodingOf
	} else if !compressible(h.ContentType()) {
		return
	}
	varies(h, fasthttp.HeaderAcceptEncoding)
	c := bestCoding(asked, codings)
	if c == plain {
		return
	}
	if ctx.Response.IsBodyStream() {
		big, ok := ctx.Response.BodyStream().(*sliceBody)
		if !ok || !ctx.Request.Header.IsHTTP11() { // the length is unknown, so chunks are required
			return
		}
		if !s.opt.Memory.Take(squeezeCost, squeezeCost) {
			return
		}
		body := &squeezed{from: big.move()}
		to, done := s.deflaters.open(c, &body.out)
		body.to, body.done = to, func() { done(); s.opt.Memory.Free(squeezeCost) }
		ctx.Response.SetBodyStream(body, -1)
		h.SetContentEncoding(c.String())
		return
	}
	h.SetContentEncoding(c.String())
	var out bytes.Buffer
	out.Grow(size / 2)
	w, done := s.deflaters.open(c, &out)
	_, _ = w.Write(ctx.Response.Body()) // into memory
	_ = w.Close()
	done()
	ctx.Response.SetBodyRaw(out.Bytes())
}

// compressible reports whether content of that type gets smaller.
func compressible(contentType []byte) bool {
	t, _, _ := bytes.Cut(contentType, []byte{';'})
	switch t = bytes.ToLower(trim(t)); string(t) {
	case contentJSON, contentPack, "image/svg+xml", "application/javascript":
		return true
	case contentSSE:
		return false
	}
	return bytes.HasPrefix(t, []byte("text/"))
}

// bestCoding returns the coding that an Accept-Encoding header prefers, of those that codings knows.
func bestCoding(asked []byte, codings func([]byte) (coding, bool)) coding {
	best, most := plain, 0
	rest := 0 // of *
	var named [zstandard + 1]bool
	for name, params := range elements(asked) {
		weight := quality(params)
		if string(name) == "*" {
			rest = weight
			continue
		}
		c, known := codings(name)
		if !known || c == plain {
			continue
		}
		named[c] = true
		if weight > most || weight == most && weight > 0 && c > best {
			best, most = c, weight
		}
	}
	if rest > most && !named[gzipped] { // a client that accepts any coding reads gzip
		return gzipped
	}
	return best
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
