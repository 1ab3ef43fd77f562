package trace

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
)

// ID identifies a trace, SpanID a span in it. Zero means none.
type (
	ID     [16]byte
	SpanID [8]byte
)

func (id ID) String() string     { return hex.EncodeToString(id[:]) }
func (id SpanID) String() string { return hex.EncodeToString(id[:]) }

// Context identifies a span to other programs. The zero value identifies none.
type Context struct {
	Trace   ID
	Span    SpanID
	Sampled bool
	State   string // tracestate
}

func (c Context) Valid() bool { return c.Trace != ID{} && c.Span != SpanID{} }

// maxState is how many bytes of a tracestate are passed on, as the specification requires.
const maxState = 512

// Parse reads the headers traceparent and tracestate. A malformed parent is not a context.
func Parse(parent, state string) (c Context, ok bool) {
	const size = len("00-00000000000000000000000000000000-0000000000000000-00")
	if len(parent) < size || parent[2] != '-' || parent[35] != '-' || parent[52] != '-' {
		return Context{}, false
	}
	var version, flags [1]byte
	fields := []struct {
		to   []byte
		text string
	}{{version[:], parent[:2]}, {c.Trace[:], parent[3:35]}, {c.Span[:], parent[36:52]}, {flags[:], parent[53:55]}}
	for _, f := range fields {
		if !lowerHex(f.text) {
			return Context{}, false
		}
		_, _ = hex.Decode(f.to, []byte(f.text)) // the text was checked
	}
	if version[0] == 0xff || version[0] == 0 && len(parent) > size || len(parent) > size && parent[size] != '-' ||
		!c.Valid() {
		return Context{}, false
	}
	c.Sampled = flags[0]&1 != 0
	if len(state) <= maxState {
		c.State = state
	}
	return c, true
}

func lowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Parent returns the header traceparent, or "" for none.
func (c Context) Parent() string {
	if !c.Valid() {
		return ""
	}
	return string(c.AppendParent(make([]byte, 0, 55)))
}

// AppendParent appends the header traceparent of a context that is valid.
func (c Context) AppendParent(b []byte) []byte {
	b = append(b, "00-"...)
	b = appendHex(b, c.Trace[:])
	b = append(b, '-')
	b = appendHex(b, c.Span[:])
	b = append(b, "-0"...)
	return append(b, c.flag()...)
}

// appendHex is hex.AppendEncode for whole groups of four bytes, whose eight digits are made at once.
func appendHex(b, from []byte) []byte {
	const ones, nibbles = 0x0101010101010101, 0x0f0f0f0f0f0f0f0f
	for ; len(from) > 0; from = from[4:] {
		x := uint64(binary.BigEndian.Uint32(from))
		x = (x | x<<16) & 0x0000ffff0000ffff
		x = (x | x<<8) & 0x00ff00ff00ff00ff
		x = (x | x<<4) & nibbles            // a digit in each byte
		letters := (x + 6*ones) >> 4 & ones // 1 where it is above 9
		b = binary.BigEndian.AppendUint64(b, x+'0'*ones+letters*('a'-'0'-10))
	}
	return b
}

func (c Context) flag() string {
	if c.Sampled {
		return "1"
	}
	return "0"
}

// ParseJaeger reads the header uber-trace-id: trace:span:parent:flags in hexadecimal, without leading zeros.
func ParseJaeger(header string) (c Context, ok bool) {
	header = strings.ReplaceAll(header, "%3A", ":")
	fields := strings.Split(header, ":")
	if len(fields) < 4 || !pad(c.Trace[:], fields[0]) || !pad(c.Span[:], fields[1]) {
		return Context{}, false
	}
	flags, err := strconv.ParseUint(fields[3], 16, 8)
	c.Sampled = flags&1 != 0
	return c, err == nil && c.Valid()
}

// pad reads a hexadecimal number without its leading zeros.
func pad(to []byte, text string) bool {
	if len(text) == 0 || len(text) > 2*len(to) {
		return false
	}
	_, err := hex.Decode(to, []byte(strings.Repeat("0", 2*len(to)-len(text))+text))
	return err == nil
}

// Jaeger returns the header uber-trace-id.
func (c Context) Jaeger() string { return c.Trace.String() + ":" + c.Span.String() + ":0:0" + c.flag() }

func newID() (id ID) {
	for id == (ID{}) {
		binary.LittleEndian.PutUint64(id[:8], rand.Uint64())
		binary.LittleEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id
}

// spanIDs makes the ids of a trace's spans, starting from a random one. A random number for each would cost more, and
// ids are not secrets.
type spanIDs struct{ last atomic.Uint64 }

func (s *spanIDs) next() (id SpanID) {
	for id == (SpanID{}) {
		binary.LittleEndian.PutUint64(id[:], s.last.Add(0x9e3779b97f4a7c15)) // odd, so no id comes twice
	}
	return id
}
