package webhook

import (
	"io"
	"sync"
)

// payload is the body of one request, in parts. The transport may read after RoundTrip has returned, when the parts may
// be unmapped; detach prevents that.
type payload struct {
	mu       sync.Mutex
	parts    [3][]byte
	detached bool
}

// open returns a reader from the start.
func (p *payload) open() *payloadReader { return &payloadReader{from: p} }

// detach ends all reading. No part is read after it has returned.
func (p *payload) detach() {
	p.mu.Lock()
	p.detached, p.parts = true, [3][]byte{}
	p.mu.Unlock()
}

// payloadReader reads a payload once.
type payloadReader struct {
	from     *payload
	part, at int
}

func (r *payloadReader) Read(to []byte) (int, error) {
	p := r.from
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.detached {
		return 0, io.ErrClosedPipe
	}
	for ; r.part < len(p.parts); r.part, r.at = r.part+1, 0 {
		if rest := p.parts[r.part][r.at:]; len(rest) > 0 {
			n := copy(to, rest)
			r.at += n
			return n, nil
		}
	}
	return 0, io.EOF
}

// Close does nothing: the transport may open the payload again.
func (r *payloadReader) Close() error { return nil }
