package schema

// Spill stores a rewritten input outside of memory.
type Spill interface {
	// Write stores the next bytes.
	Write([]byte) (int, error)
	// Bytes returns what was written. Nothing is written after it.
	Bytes() ([]byte, error)
}

// spillFrom is the size in bytes from which a value goes to a Spill without a copy in memory.
const spillFrom = 64 << 10

// rewritten collects a rewritten input: in memory, or in a Spill where the input itself is not in memory.
type rewritten struct {
	buf     []byte
	spill   Spill // nil means buf has it all
	spilled int   // bytes that spill has
	err     error // the first error of spill
}

// open returns a new Spill; nil means rewrite in memory.
func open(spill func() Spill) Spill {
	if spill == nil {
		return nil
	}
	return spill()
}

func newRewritten(size int, spill Spill) rewritten {
	if spill != nil {
		size = spillFrom
	}
	return rewritten{buf: append(make([]byte, 0, size), '{'), spill: spill}
}

// len returns how many bytes there are.
func (r *rewritten) len() int { return r.spilled + len(r.buf) }

// next separates a member from the one before it.
func (r *rewritten) next() {
	if r.len() > 1 {
		r.buf = append(r.buf, ',')
	}
}

// value appends a member's value.
func (r *rewritten) value(v []byte) {
	if r.spill == nil || len(v) < spillFrom {
		r.buf = append(r.buf, v...)
		return
	}
	r.flush()
	r.store(v)
}

func (r *rewritten) flush() {
	r.store(r.buf)
	r.buf = r.buf[:0]
}

func (r *rewritten) store(b []byte) {
	if r.err == nil {
		_, r.err = r.spill.Write(b)
	}
	r.spilled += len(b)
}

// finish ends the object, and returns all of it.
func (r *rewritten) finish() ([]byte, error) {
	r.buf = append(r.buf, '}')
	if r.spill == nil {
		return r.buf, nil
	}
	r.flush()
	if r.err != nil {
		return nil, r.err
	}
	return r.spill.Bytes()
}
