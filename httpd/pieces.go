package httpd

import "io"

// pieces is a body made of byte slices that are written as they are. fasthttp closes it once, when it
// was written or given up.
type pieces struct {
	parts   [3][]byte
	release func()
}

func (p *pieces) size() int {
	n := 0
	for _, part := range p.parts {
		n += len(part)
	}
	return n
}

// WriteTo writes all that is left; fasthttp prefers it to Read.
func (p *pieces) WriteTo(w io.Writer) (written int64, err error) {
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

func (p *pieces) Read(b []byte) (int, error) {
	for i := range p.parts {
		if len(p.parts[i]) > 0 {
			n := copy(b, p.parts[i])
			p.parts[i] = p.parts[i][n:]
			return n, nil
		}
	}
	return 0, io.EOF
}

// move takes the body over, so that closing p does nothing.
func (p *pieces) move() *pieces {
	moved := *p
	*p = pieces{}
	return &moved
}

// Close lets go of the record. The slices may be memory that is about to be unmapped.
func (p *pieces) Close() error {
	if p.release != nil {
		p.parts = [3][]byte{}
		p.release()
		p.release = nil
	}
	return nil
}
