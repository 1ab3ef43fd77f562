package rawjson

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds of value. KindInvalid means that the first byte begins no value.
const (
	KindInvalid Kind = iota
	KindNull
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
)

var kindNames = [...]string{"invalid", "null", "boolean", "number", "string", "array", "object"}

// String returns the kind's name in JSON Schema; a number is "number".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[0]
}

// KindOf returns the kind of the value v by its first byte.
func KindOf(v []byte) Kind {
	i := skipSpace(v, 0)
	if i >= len(v) {
		return KindInvalid
	}
	switch c := v[i]; {
	case c == '"':
		return KindString
	case c == '{':
		return KindObject
	case c == '[':
		return KindArray
	case c == 't' || c == 'f':
		return KindBool
	case c == 'n':
		return KindNull
	case c == '-' || c-'0' < 10:
		return KindNumber
	}
	return KindInvalid
}

// ObjectReader iterates over the members of an object. The zero value has none.
type ObjectReader struct{ list }

// ArrayReader iterates over the items of an array. The zero value has none.
type ArrayReader struct{ list }

// list is a position inside a container.
type list struct {
	b     []byte
	i     int   // offset of the next member, or of the comma before it
	value int   // offset of the value returned last
	lists Lists // of b
}

// Object returns a reader of v; a value of another kind has no members.
func Object(v []byte) ObjectReader { return ObjectReader{begin(v, '{')} }

// Array returns a reader of v; a value of another kind has no items.
func Array(v []byte) ArrayReader { return ArrayReader{begin(v, '[')} }

// ArrayAfter returns a reader of the items of v after the one that ends at offset end. v may lack its closing bracket.
func ArrayAfter(v []byte, end int) ArrayReader { return ArrayReader{list{b: v, i: end}} }

// ObjectWith is Object for a v with known lists, which it does not scan again. The lists must be of v.
func ObjectWith(v []byte, lists Lists) ObjectReader {
	r := Object(v)
	r.lists = lists
	return r
}

func begin(v []byte, c byte) list {
	i := skipSpace(v, 0)
	if i >= len(v) || v[i] != c {
		return list{}
	}
	return list{b: v, i: i + 1}
}

// Next returns the next member: its key without quotes (still escaped; see KeyText) and its value without surrounding
// space. ok is false after the last one.
func (r *ObjectReader) Next() (key, value []byte, ok bool) {
	b := r.b
	i := r.member()
	if i >= len(b) || b[i] != '"' {
		r.i = len(b)
		return nil, nil, false
	}
	end := skipString(b, i+1)
	colon := skipSpace(b, end)
	if end < i+2 || colon >= len(b) {
		r.i = len(b)
		return nil, nil, false
	}
	key = b[i+1 : end-1]
	value, ok = r.take(skipSpace(b, colon+1))
	return key, value, ok
}

// Next returns the next item, without surrounding space. ok is false after the last one.
func (r *ArrayReader) Next() (value []byte, ok bool) {
	i := r.member()
	if i >= len(r.b) || r.b[i] == ']' {
		r.i = len(r.b)
		return nil, false
	}
	return r.take(i)
}

// Offset returns the offset of the last value of Next in the reader's argument.
func (l *list) Offset() int { return l.value }

// member skips space and the comma before the next member.
func (l *list) member() int {
	i := skipSpace(l.b, l.i)
	if i < len(l.b) && l.b[i] == ',' {
		i = skipSpace(l.b, i+1)
	}
	return i
}

// take reads the value at i.
func (l *list) take(i int) ([]byte, bool) {
	end := skipValue(l.b, i, &l.lists)
	l.i = end
	if end <= i {
		l.i = len(l.b)
		return nil, false
	}
	l.value = i
	return l.b[i:end], true
}

// skipValue returns the index after the value at i, in checked bytes.
func skipValue(b []byte, i int, lists *Lists) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		return skipString(b, i+1)
	case '{', '[':
		return skipContainer(b, i, lists)
	}
	for ; i < len(b); i++ {
		if c := b[i]; c <= ' ' || c == ',' || c == ']' || c == '}' {
			break
		}
	}
	return i
}

// skipContainer returns the index after the container at i. It counts brackets outside strings, and skips known lists.
func skipContainer(b []byte, i int, lists *Lists) int {
	depth := 0
	for i < len(b) {
		if len(b)-i >= 8 {
			x := binary.LittleEndian.Uint64(b[i:])
			// This bit makes '[' a '{' and ']' a '}'. A quote does not change, and the character that becomes a quote is
			// not in checked bytes.
			x |= ones * 0x20
			m := (equal(x, '"') | equal(x, '{') | equal(x, '}')) & highs
			if m == 0 {
				i += 8
				if i < len(b) && b[i]-'0' < 10 { // perhaps a long list of numbers
					i += flat(b[i:])
				}
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		switch b[i] {
		case '"':
			i = skipString(b, i+1)
			continue
		case '{', '[':
			depth++
			if end := lists.end(i); end > 0 && end <= len(b) {
				i = end - 1 // its closing bracket
				continue
			}
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(b)
}

// Members iterates over the members of v, as Object does.
func Members(v []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		r := Object(v)
		for key, value, ok := r.Next(); ok && yield(key, value); key, value, ok = r.Next() {
		}
	}
}

// Items iterates over the items of v with their indexes, as Array does.
func Items(v []byte) iter.Seq2[int, []byte] {
	return func(yield func(i int, item []byte) bool) {
		r := Array(v)
		i := 0
		for item, ok := r.Next(); ok && yield(i, item); item, ok = r.Next() {
			i++
		}
	}
}
