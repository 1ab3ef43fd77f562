package msgpack

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/tinylib/msgp/msgp"

	"pinion/runtime/rawjson"
)

// ErrTooLarge means that the JSON would be larger than Options.Most.
var ErrTooLarge = errors.New("the MessagePack body is too large as JSON")

// SyntaxError says why a document is refused.
type SyntaxError struct{ Reason string }

func (e *SyntaxError) Error() string { return "invalid MessagePack: " + e.Reason }

// Options of ToJSON.
type Options struct {
	// Most bounds the JSON, in bytes.
	Most int64
	// Bins is the member of the document, a map, that may have bin values; elsewhere they are refused.
	Bins string
	// Grow is called before n more bytes are allocated, unless it is nil. Its error ends the reading.
	Grow func(n int) error
	// Bin reads the whole content of a bin from from, and appends the JSON that stands for it.
	Bin func(dst []byte, from io.Reader) ([]byte, error)
}

// ToJSON converts r, which has exactly one value, to JSON. The error is a *SyntaxError, ErrTooLarge, one of r, o.Bin or
// o.Grow.
func ToJSON(r io.Reader, o Options) ([]byte, error) {
	source := &source{from: r}
	d := &decoder{m: msgp.NewReaderSize(source, 16<<10), o: o}
	err := d.value(0)
	if err == nil {
		if _, more := d.m.R.Peek(1); more == nil {
			err = &SyntaxError{"data after the value"}
		}
	}
	if source.err != nil {
		err = source.err // the cause of the reader's error
	}
	var syntax *SyntaxError
	var unread msgp.Error
	switch {
	case err == nil:
		return d.out, nil
	case source.err != nil, errors.As(err, &syntax):
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = &SyntaxError{"it ends too early"}
	case errors.As(err, &unread):
		err = &SyntaxError{unread.Error()}
	}
	return nil, err
}

// decoder reads one document.
type decoder struct {
	m       *msgp.Reader
	o       Options
	out     []byte
	scratch []byte // the current text
	bins    bool   // a bin is allowed here
	charged int    // bytes that Grow was called for
}

// value reads the next value, below depth maps and arrays.
func (d *decoder) value(depth int) error {
	kind, err := d.m.NextType()
	if err != nil {
		return err
	}
	switch kind {
	case msgp.MapType, msgp.ArrayType:
		if depth == rawjson.MaxDepth {
			return &SyntaxError{"it nests deeper than " + strconv.Itoa(rawjson.MaxDepth) + " levels"}
		}
		if kind == msgp.MapType {
			return d.object(depth)
		}
		return d.array(depth)
	case msgp.StrType:
		return d.text()
	case msgp.BinType:
		return d.bin()
	}
	if err := d.room(32); err != nil { // more than any number takes
		return err
	}
	switch kind {
	case msgp.NilType:
		d.out = append(d.out, "null"...)
		return d.m.ReadNil()
	case msgp.BoolType:
		v, err := d.m.ReadBool()
		d.out = strconv.AppendBool(d.out, v)
		return err
	case msgp.IntType:
		v, err := d.m.ReadInt64()
		d.out = strconv.AppendInt(d.out, v, 10)
		return err
	case msgp.UintType:
		v, err := d.m.ReadUint64()
		d.out = strconv.AppendUint(d.out, v, 10)
		return err
	case msgp.Float32Type:
		v, err := d.m.ReadFloat32()
		return d.float(float64(v), err)
	case msgp.Float64Type:
		v, err := d.m.ReadFloat64()
		return d.float(v, err)
	case msgp.InvalidType:
		return &SyntaxError{"it has a byte that begins no value"}
	}
	return &SyntaxError{"it has an extension type, timestamps among them; write a time as a text (RFC 3339)"}
}

// room returns an error if n more bytes may not be written.
func (d *decoder) room(n int) error {
	if int64(len(d.out))+int64(n) > d.o.Most {
		return ErrTooLarge
	}
	if size := cap(d.out) + cap(d.scratch); size > d.charged && d.o.Grow != nil {
		if err := d.o.Grow(size - d.charged); err != nil {
			return err
		}
		d.charged = size
	}
	return nil
}

// reserve makes room for n more bytes, and charges them first.
func (d *decoder) reserve(n int) error {
	if int64(len(d.out)+n) > d.o.Most {
		return ErrTooLarge
	}
	if missing := len(d.out) + n - cap(d.out); missing > 0 && d.o.Grow != nil {
		if err := d.o.Grow(missing); err != nil {
			return err
		}
		d.charged += missing
	}
	d.out = slices.Grow(d.out, n)
	return nil
}

func (d *decoder) float(v float64, err error) error {
	switch {
	case err != nil:
		return err
	case math.IsNaN(v) || math.IsInf(v, 0):
		return &SyntaxError{"it has a number that is not finite"}
	}
	start := len(d.out)
	d.out = strconv.AppendFloat(d.out, v, 'g', -1, 64)
	if !bytes.ContainsAny(d.out[start:], ".e") {
		d.out = append(d.out, ".0"...) // else it would become an integer, and -0 would be lost
	}
	return nil
}

// text reads a str. Memory grows with its bytes, not with its announced length.
func (d *decoder) text() error {
	size, err := d.m.ReadStringHeader()
	if err != nil {
		return err
	}
	if int64(size) > d.o.Most {
		return ErrTooLarge
	}
	const step = 64 << 10
	d.scratch = d.scratch[:0]
	for left := int(size); left > 0; {
		n := min(left, step)
		at := len(d.scratch)
		if cap(d.scratch)-at < n {
			d.scratch = append(d.scratch, make([]byte, n)...)
		}
		d.scratch = d.scratch[:at+n]
		if err := d.room(0); err != nil {
			return err
		}
		if _, err := d.m.ReadFull(d.scratch[at:]); err != nil {
			return err
		}
		left -= n
	}
	if !utf8.Valid(d.scratch) {
		return &SyntaxError{"it has a text that is not UTF-8"}
	}
	if err := d.room(len(d.scratch) + 2); err != nil {
		return err
	}
	if len(d.scratch) > step { // escapes make it up to six times as long
		if err := d.reserve(rawjson.QuotedLen(d.scratch)); err != nil {
			return err
		}
	}
	d.out = rawjson.AppendQuotedBytes(d.out, d.scratch)
	if cap(d.scratch) > 4*step {
		d.scratch = nil
	}
	return d.room(0)
}

func (d *decoder) bin() error {
	if !d.bins {
		return &SyntaxError{"it has binary data outside of " + strconv.Quote(d.o.Bins)}
	}
	size, err := d.m.ReadBytesHeader()
	if err != nil {
		return err
	}
	content := &io.LimitedReader{R: d.m, N: int64(size)}
	if d.out, err = d.o.Bin(d.out, content); err != nil {
		return err
	}
	if content.N > 0 {
		return io.ErrUnexpectedEOF
	}
	return d.room(0)
}

func (d *decoder) array(depth int) error {
	size, err := d.m.ReadArrayHeader()
	if err != nil {
		return err
	}
	d.out = append(d.out, '[')
	for i := range size {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		if err := d.value(depth + 1); err != nil {
			return err
		}
	}
	d.out = append(d.out, ']')
	return d.room(0)
}

func (d *decoder) object(depth int) error {
	size, err := d.m.ReadMapHeader()
	if err != nil {
		return err
	}
	d.out = append(d.out, '{')
	for i := range size {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		kind, err := d.m.NextType()
		switch {
		case err != nil:
			return err
		case kind != msgp.StrType:
			return &SyntaxError{"it has a key that is not a text"}
		}
		if err := d.text(); err != nil {
			return err
		}
		d.out = append(d.out, ':')
		if depth == 0 {
			d.bins = string(d.scratch) == d.o.Bins
		}
		if err := d.value(depth + 1); err != nil {
			return err
		}
	}
	d.out = append(d.out, '}')
	return d.room(0)
}

// source stores the error of a reader, which the format's reader may replace.
type source struct {
	from io.Reader
	err  error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.from.Read(b)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}
