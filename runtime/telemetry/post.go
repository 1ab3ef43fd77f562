package telemetry

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// post is the body of an export over HTTP. The SDK's client would copy all spans to a body of its own, in new memory:
// it makes an empty request, and poster puts the spans in it.
type post struct {
	pieces [][]byte
	size   int
	read   atomic.Int32 // how many bodies may still be read
}

func (p *post) add(piece []byte) { p.pieces, p.size = append(p.pieces, piece), p.size+len(piece) }

type postKey struct{}

// in returns a context whose requests have the body.
func (p *post) in(ctx context.Context) context.Context { return context.WithValue(ctx, postKey{}, p) }

func (p *post) body() io.ReadCloser {
	readers := make([]io.Reader, len(p.pieces))
	for i, piece := range p.pieces {
		readers[i] = bytes.NewReader(piece)
	}
	p.read.Add(1)
	return &postBody{io.MultiReader(readers...), sync.OnceFunc(func() { p.read.Add(-1) })}
}

type postBody struct {
	io.Reader
	closed func()
}

func (b *postBody) Close() error {
	b.closed()
	return nil
}

// poster gives each request the body that its context carries.
type poster struct{ http.RoundTripper }

func (t poster) RoundTrip(r *http.Request) (*http.Response, error) {
	if p, ok := r.Context().Value(postKey{}).(*post); ok {
		r = r.WithContext(r.Context()) // a copy: the caller's stays as it is
		r.Body, r.ContentLength = p.body(), int64(p.size)
		r.GetBody = func() (io.ReadCloser, error) { return p.body(), nil }
	}
	return t.RoundTripper.RoundTrip(r)
}
