package oip

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pinion/httpd/protocol"
	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Tensor is a named tensor of a request or an answer.
type Tensor struct {
	Name  string
	Type  Datatype
	Shape []int64
	// Raw is its elements, little-endian and row-major; an element of BYTES has its length before it, in four bytes.
	// Nil means Tokens has them.
	Raw []byte
	// Tokens is its elements as JSON, one by one.
	Tokens [][]byte
}

// count returns how many elements a shape has, or false if a length is negative, or there are too many.
func count(shape []int64) (n int64, ok bool) {
	n = 1
	for _, length := range shape {
		if length < 0 || length > 0 && n > math.MaxInt32*16/length {
			return 0, false
		}
		n *= length
	}
	return n, true
}

// shapeText shows a shape: [2,3].
func shapeText(shape []int64) string {
	texts := make([]string, len(shape))
	for i, length := range shape {
		texts[i] = strconv.FormatInt(length, 10)
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// shown returns the name for a message: a client may send one of any length.
func (t *Tensor) shown() string { return shortText([]byte(t.Name)) }

// Check requires Shape to be one, and Raw to have its size.
func (t *Tensor) Check() *protocol.Error {
	n, ok := count(t.Shape)
	if !ok || len(t.Shape) > maxRank {
		return bad("input %q: shape %s is too large, or has a negative length", t.shown(),
			shortText([]byte(shapeText(t.Shape))))
	}
	return t.checkRaw(n)
}

func (t *Tensor) checkRaw(n int64) *protocol.Error {
	if t.Type.Size > 0 {
		if int64(len(t.Raw)) != n*int64(t.Type.Size) {
			return protocol.Errorf(protocol.BadInput, "input %q: got %d bytes, but %s of shape %s has %d",
				t.shown(), len(t.Raw), t.Type.Name, shapeText(t.Shape), n*int64(t.Type.Size))
		}
		if t.Type.Code == '?' {
			for i, b := range t.Raw {
				if b > 1 {
					return protocol.Errorf(protocol.BadInput, "input %q: byte %d at %d is not a valid BOOL: must be 0 or 1", t.shown(),
						b, i)
				}
			}
		}
		return nil
	}
	got, ok := countBytes(t.Raw)
	if !ok || got != n {
		return protocol.Errorf(protocol.BadInput,
			"input %q: the %d bytes are not %d elements of BYTES, each after its length in four bytes",
			t.shown(), len(t.Raw), n)
	}
	return nil
}

// countBytes counts the elements of a BYTES tensor; false means the lengths do not add up to raw.
func countBytes(raw []byte) (n int64, ok bool) {
	for ; len(raw) > 0; n++ {
		if len(raw) < 4 {
			return n, false
		}
		size := uint64(binary.LittleEndian.Uint32(raw))
		if size > uint64(len(raw)-4) {
			return n, false
		}
		raw = raw[4+size:]
	}
	return n, true
}

// nextBytes returns the first element of a BYTES tensor, and the rest.
func nextBytes(raw []byte) (element, rest []byte) {
	size := binary.LittleEndian.Uint32(raw)
	return raw[4 : 4+size], raw[4+size:]
}

// texts returns the elements of a BYTES tensor.
func (t *Tensor) texts() [][]byte {
	if t.Raw == nil {
		list := make([][]byte, len(t.Tokens))
		for i, token := range t.Tokens {
			list[i] = []byte(rawjson.Text(token))
		}
		return list
	}
	var list [][]byte
	for raw := t.Raw; len(raw) > 0; {
		var element []byte
		element, raw = nextBytes(raw)
		list = append(list, element)
	}
	return list
}

// json returns the elements of a tensor as JSON, or false if an element has no JSON.
func (t *Tensor) json() ([][]byte, bool) {
	tokens, bad := t.appendTokens(nil)
	if t.Raw == nil && t.Type.isFloat() {
		bad = slices.IndexFunc(tokens, func(token []byte) bool { _, no := notFinite(token); return no })
	}
	return tokens, bad < 0
}

// tokens returns the elements of an input as JSON. A number that is not finite has a placeholder, whose tensor is added
// to a call.
func (t *Tensor) tokens(c *protocol.Call) ([][]byte, *protocol.Error) {
	tokens, i := t.appendTokens(func(dst []byte, v float64) []byte {
		dst, c.Tensors = predict.AppendNotFinite(dst, v, c.Tensors)
		return dst
	})
	if i >= 0 {
		return nil, bad("input %q: element %d is not UTF-8", t.shown(), i)
	}
	return tokens, nil
}

// appendTokens returns the elements as JSON, and the index of the first that has none, or -1. notFinite appends what a
// number that is not finite has; nil means it has none.
func (t *Tensor) appendTokens(notFinite func(dst []byte, v float64) []byte) ([][]byte, int) {
	if t.Raw == nil {
		return t.Tokens, -1
	}
	if t.Type.Size == 0 {
		list := t.texts()
		for i, text := range list {
			if !utf8.Valid(text) {
				return nil, i
			}
			list[i] = rawjson.AppendQuotedBytes(nil, text)
		}
		return list, -1
	}
	list := make([][]byte, len(t.Raw)/t.Type.Size)
	text := make([]byte, 0, 8*len(list))
	for i := range list {
		begin, finite := len(text), false
		text, finite = t.Type.appendNumber(text, t.Raw[i*t.Type.Size:])
		if !finite {
			if notFinite == nil {
				return nil, i
			}
			text = notFinite(text, t.Type.float(t.Raw[i*t.Type.Size:]))
		}
		list[i] = text[begin:len(text):len(text)]
	}
	return list, -1
}

// Bytes returns the elements of a tensor in binary, as Raw has them.
func (t *Tensor) Bytes() ([]byte, error) {
	if t.Raw != nil {
		return t.Raw, nil
	}
	out := make([]byte, 0, len(t.Tokens)*max(t.Type.Size, 8))
	for i, token := range t.Tokens {
		if t.Type.Size == 0 {
			at := len(out)
			out = append(out, 0, 0, 0, 0)
			out = rawjson.AppendText(out, token[1:len(token)-1])
			binary.LittleEndian.PutUint32(out[at:], uint32(len(out)-at-4))
			continue
		}
		var ok bool
		if out, ok = t.Type.appendRaw(out, token); !ok {
			return nil, fmt.Errorf("element %d: %s is not a valid %s", i, shortText(token), t.Type.Name)
		}
	}
	return out, nil
}

// shortText shows a JSON value in a message.
func shortText(raw []byte) string { return logtext.ClipTo(raw, 100) }

func bad(format string, args ...any) *protocol.Error {
	return protocol.Errorf(protocol.BadInput, format, args...)
}
