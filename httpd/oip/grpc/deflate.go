package grpc

import (
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // registers itself
)

// deflate is gRPC's coding of that name: the zlib format (RFC 1950), as C clients and Triton's send it.
type deflate struct {
	writers, readers sync.Pool
}

// gRPC takes compressors only while the program starts.
func init() { encoding.RegisterCompressor(new(deflate)) }

// Name implements encoding.Compressor.
func (*deflate) Name() string { return "deflate" }

// Compress implements encoding.Compressor.
func (d *deflate) Compress(w io.Writer) (io.WriteCloser, error) {
	z, _ := d.writers.Get().(*deflater)
	if z == nil {
		z = &deflater{Writer: zlib.NewWriter(nil), pool: &d.writers}
	}
	z.Reset(w)
	return z, nil
}

// Decompress implements encoding.Compressor.
func (d *deflate) Decompress(r io.Reader) (io.Reader, error) {
	z, _ := d.readers.Get().(*inflater)
	if z == nil {
		from, err := zlib.NewReader(r)
		if err != nil {
			return nil, err
		}
		return &inflater{ReadCloser: from, pool: &d.readers}, nil
	}
	if err := z.ReadCloser.(zlib.Resetter).Reset(r, nil); err != nil {
		d.readers.Put(z)
		return nil, err
	}
	return z, nil
}

// deflater returns to its pool when it is closed, which gRPC does once.
type deflater struct {
	*zlib.Writer
	pool *sync.Pool
}

func (z *deflater) Close() error {
	defer z.pool.Put(z)
	return z.Writer.Close()
}

// inflater returns to its pool when it is closed, which gRPC does once.
type inflater struct {
	io.ReadCloser
	pool *sync.Pool
}

func (z *inflater) Close() error {
	defer z.pool.Put(z)
	return z.ReadCloser.Close()
}
