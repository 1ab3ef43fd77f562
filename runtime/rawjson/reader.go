package rawjson

import (
	"encoding/binary"
	"math/bits"
)

// Kind is what a JSON value is.
type Kind uint8

// The kinds of value. Invalid is what no value begins with.
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

// String is the name that JSON Schema gives the kind; a number is "number".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[0]
}

// KindOf tells what the value v is by its first byte.
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

// ObjectReader walks over the members of an object. The zero value has none.
type ObjectReader struct{ list }

// ArrayReader walks over the items of an array. The zero value has none.
type ArrayReader struct{ list }

// list is a place inside a container.
type list struct {
	b     []byte
	i     int   // where the next member begins, or the comma before it
	value int   // where the value last returned begins
	lists Lists // of b
}

// Object begins to read v; a value of another kind has no members.
func Object(v []byte) ObjectReader { return ObjectReader{begin(v, '{')} }

// Array begins to read v; a value of another kind has no items.
func Array(v []byte) ArrayReader { return ArrayReader{begin(v, '[')} }

// ObjectWith is Object for a v of which lists are known: they are not gone over again. Lists of another document make no
// more sense than bytes that were not checked.
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

// Next is the next member: its key as it stands between the quotes (still escaped; see KeyText)
// and its value without the space around it. ok is false after the last one.
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

// Next is the next item, without the space around it. ok is false after the last one.
func (r *ArrayReader) Next() (value []byte, ok bool) {
	i := r.member()
	if i >= len(r.b) || r.b[i] == ']' {
		r.i = len(r.b)
		return nil, false
	}
	return r.take(i)
}

// Offset is where the value that Next last returned begins in the reader's argument.
func (l *list) Offset() int { return l.value }

// member goes to the next member: over space and the comma.
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

// skipValue is the index after the value at i, over checked bytes.
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

// skipContainer is the index after the container that begins at i. It needs only count
// brackets outside of strings, but for the lists that are known.
func skipContainer(b []byte, i int, lists *Lists) int {
	depth := 0
	for i < len(b) {
		if len(b)-i >= 8 {
			x := binary.LittleEndian.Uint64(b[i:])
			// With this bit '[' becomes '{' and ']' becomes '}'; a quote stays one, and the
			// character that becomes a quote can't stand in checked bytes.
			x |= ones * 0x20
			m := (equal(x, '"') | equal(x, '{') | equal(x, '}')) & highs
			if m == 0 {
				i += 8
				if i < len(b) && b[i]-'0' < 10 { // maybe a long list of numbers
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
