package ventu

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	readBuffer = 64 << 10
	maxKey     = 1 << 10 // bytes of a key; an id has 36
	firstPiece = 1 << 20 // most that is allocated for a body on the strength of its length alone
	errorIDs   = "error_ids"
)

// answer is what a worker gave for one job.
type answer struct {
	none   bool // nothing
	status int
	body   []byte
}

// reader reads what a worker says.
type reader struct {
	from *stallReader
	b    *bufio.Reader
	most int64 // bytes of one answer
	left int64 // bytes of the message that are to be read
}

func newReader(from *stallReader, most int64) *reader {
	return &reader{from: from, b: bufio.NewReaderSize(from, readBuffer), most: most}
}

// init reads the four zero bytes that a worker begins with.
func (r *reader) init() error {
	n, err := r.length()
	if err == nil && n != 0 {
		return errInit
	}
	return err
}

// length waits for a message and reads its length.
func (r *reader) length() (int64, error) {
	r.from.bounded = false
	if _, err := r.b.Peek(1); err != nil {
		if err == io.EOF {
			return 0, errDisconnected
		}
		return 0, fmt.Errorf("wait for the worker: %w", err)
	}
	r.from.bounded = true
	var raw [lengthSize]byte
	if _, err := io.ReadFull(r.b, raw[:]); err != nil {
		return 0, cut(err)
	}
	return int64(binary.BigEndian.Uint32(raw[:])), nil
}

// answers reads the rest of a message of that length: the answers to these jobs, in their order.
func (r *reader) answers(length int64, jobs []*Job) ([]answer, error) {
	r.left = length
	pairs, err := r.mapHeader()
	if err != nil {
		return nil, err
	}
	answers := make([]answer, len(jobs))
	for i := range answers {
		answers[i].none = true
	}
	at := places{jobs: jobs}
	var bad []byte // error_ids
	var key [maxKey]byte
	for range pairs {
		n, err := r.text(maxKey)
		if err != nil {
			return nil, err
		}
		name := key[:n]
		if err = r.full(name); err != nil {
			return nil, err
		}
		if string(name) == errorIDs {
			if n, err = r.text(r.left); err == nil {
				bad, err = r.bytes(n)
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		if n, err = r.text(r.left); err != nil {
			return nil, err
		}
		place := at.of(name)
		switch {
		case place < 0 || !answers[place].none: // not asked for, or not again
			err = r.skip(n)
		case n > r.most:
			answers[place] = answer{status: StatusUnanswered, body: fmt.Appendf(nil,
				"The worker's answer has %d bytes, and %d is the most", n, r.most)}
			err = r.skip(n)
		default:
			answers[place] = answer{status: StatusDone}
			answers[place].body, err = r.bytes(n)
		}
		if err != nil {
			return nil, err
		}
	}
	if r.left != 0 {
		return nil, fmt.Errorf("%w: %d bytes follow its map", errMalformed, r.left)
	}
	return answers, at.markErrors(answers, bad)
}

// markErrors marks the answers as errors whose ids stand one after the other in bad.
func (p *places) markErrors(answers []answer, bad []byte) error {
	if len(bad)%idLength != 0 {
		return fmt.Errorf("%w: its %s have %d bytes, which is not a multiple of %d", errMalformed, errorIDs, len(bad),
			idLength)
	}
	for ; len(bad) > 0; bad = bad[idLength:] {
		if i := p.of(bad[:idLength]); i >= 0 && answers[i].status == StatusDone {
			answers[i].status = StatusInvalid
		}
	}
	return nil
}

// places finds jobs by their ids. Workers usually answer in the order in which they were asked.
type places struct {
	jobs []*Job
	next int
	byID map[id]int
}

// of returns the place of a job; -1 means no job has that id.
func (p *places) of(name []byte) int {
	if len(name) != idLength {
		return -1
	}
	want := id(name)
	if p.next < len(p.jobs) && p.jobs[p.next].id == want {
		p.next++
		return p.next - 1
	}
	if p.byID == nil {
		p.byID = make(map[id]int, len(p.jobs))
		for i, j := range p.jobs {
			p.byID[j.id] = i
		}
	}
	if i, ok := p.byID[want]; ok {
		p.next = i + 1
		return i
	}
	return -1
}

// mapHeader reads how many pairs follow.
func (r *reader) mapHeader() (int64, error) {
	c, err := r.byte()
	switch {
	case err != nil:
		return 0, err
	case c >= fixMap && c <= fixMapMost:
		return int64(c - fixMap), nil
	case c == msgMap16:
		return r.number(2)
	case c == msgMap32:
		return r.number(4)
	}
	return 0, fmt.Errorf("%w: it begins with the byte %#02x, which is not a map", errMalformed, c)
}

// text reads the length of a str, bin or nil, and refuses one above most.
func (r *reader) text(most int64) (n int64, err error) {
	c, err := r.byte()
	switch {
	case err != nil:
		return 0, err
	case c >= fixStr && c <= fixStrMost:
		n = int64(c - fixStr)
	case c == msgStr8 || c == msgBin8:
		n, err = r.number(1)
	case c == msgStr16 || c == msgBin16:
		n, err = r.number(2)
	case c == msgStr32 || c == msgBin32:
		n, err = r.number(4)
	case c == msgNil:
	default:
		return 0, fmt.Errorf("%w: the byte %#02x where a str or bin should be", errMalformed, c)
	}
	if err == nil && n > min(most, r.left) {
		return 0, fmt.Errorf("%w: a str or bin of %d bytes where %d are the most", errMalformed, n, min(most, r.left))
	}
	return n, err
}

func (r *reader) byte() (byte, error) {
	n, err := r.number(1)
	return byte(n), err
}

// number reads an unsigned number of size bytes.
func (r *reader) number(size int) (int64, error) {
	var raw [8]byte
	err := r.full(raw[8-size:])
	return int64(binary.BigEndian.Uint64(raw[:])), err
}

// full fills p from the message.
func (r *reader) full(p []byte) error {
	if int64(len(p)) > r.left {
		return fmt.Errorf("%w: it ends within its map", errMalformed)
	}
	r.left -= int64(len(p))
	if _, err := io.ReadFull(r.b, p); err != nil {
		return cut(err)
	}
	return nil
}

// bytes reads n bytes; memory for them is allocated as they come.
func (r *reader) bytes(n int64) ([]byte, error) {
	b := make([]byte, min(n, firstPiece))
	for at := int64(0); ; {
		if err := r.full(b[at:]); err != nil {
			return nil, err
		}
		at = int64(len(b))
		if at == n {
			return b, nil
		}
		more := make([]byte, min(n, 2*at))
		copy(more, b)
		b = more
	}
}

// skip reads n bytes and forgets them.
func (r *reader) skip(n int64) error {
	r.left -= n
	if _, err := io.CopyN(io.Discard, r.b, n); err != nil {
		return cut(err)
	}
	return nil
}

// cut returns what went wrong in the midst of a message.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errDisconnected
	}
	return fmt.Errorf("within an answer: %w", err)
}

// source is what stallReader needs of a connection.
type source interface {
	io.Reader
	SetReadDeadline(time.Time) error
}

// stallReader reads from a connection. While it is bounded, something must come within the bound each time.
type stallReader struct {
	conn    source
	bound   time.Duration
	bounded bool
	set     bool // a deadline is in force
}

func (p *stallReader) Read(b []byte) (int, error) {
	if p.bounded || p.set {
		var deadline time.Time
		if p.bounded {
			deadline = time.Now().Add(p.bound)
		}
		if err := p.conn.SetReadDeadline(deadline); err != nil {
			return 0, err
		}
		p.set = p.bounded
	}
	return p.conn.Read(b)
}
