package answers

import (
	"io"

	"pinion/runtime/memory"
)

// sliceBody is a response body of byte slices, which are not copied. fasthttp closes it once, when it was written or
// given up.
type sliceBody struct {
	parts [3][]byte
	made  int          // how many bytes of them are charged to nothing else; see holdAnswer
	of    memory.Owner // nil means there is none, or it was released
}

func (p *sliceBody) uncharged() int { return p.made }

func (p *sliceBody) size() int {
	n := 0
	for _, part := range p.parts {
		n += len(part)
	}
	return n
}

// WriteTo writes the rest; fasthttp prefers it to Read.
func (p *sliceBody) WriteTo(w io.Writer) (written int64, err error) {
	for i := range p.parts {
		n, err := w.Write(p.parts[i])
		written += int64(n)
		p.parts[i] = p.parts[i][n:]
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

func (p *sliceBody) Read(b []byte) (int, error) {
	for i := range p.parts {
		if len(p.parts[i]) > 0 {
			n := copy(b, p.parts[i])
			p.parts[i] = p.parts[i][n:]
			return n, nil
		}
	}
	return 0, io.EOF
}

// move returns the body, and leaves p empty, so that closing p does nothing.
func (p *sliceBody) move() *sliceBody {
	moved := *p
	*p = sliceBody{}
	return &moved
}

// Close releases the record. Its slices may then be unmapped.
func (p *sliceBody) Close() error {
	if p.of != nil {
		p.parts = [3][]byte{}
		p.of.Release()
		p.of = nil
	}
	return nil
}
