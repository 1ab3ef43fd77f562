package body

import (
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"pinion/httpd/negotiate"
)

// maxWindow bounds the window of a zstd body, in bytes. RFC 8878 recommends at least 8 MiB; the reference
// implementation exceeds it only with --ultra and --long.
const maxWindow = 8 << 20

// inflater reads a compressed body.
type inflater interface {
	io.Reader
	Reset(from io.Reader) error
}

// inflaters are a pool of readers for each coding. The zero value is ready.
type inflaters [negotiate.Zstd + 1]sync.Pool

// open begins to read from. done returns the reader to the pool.
func (p *inflaters) open(c negotiate.Coding, from io.Reader) (r io.Reader, done func(), err error) {
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
		if c == negotiate.Zstd {
			_ = z.Reset(nil) // drops from
		}
		p[c].Put(z)
	}, nil
}

func newInflater(c negotiate.Coding) (inflater, error) {
	switch c {
	case negotiate.Deflate:
		return new(zlibReader), nil
	case negotiate.Gzip:
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
