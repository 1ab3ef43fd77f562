package msgpack

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"

	"github.com/tinylib/msgp/msgp"

	"pinion/runtime/rawjson"
)

// FromJSON appends json, which rawjson.Check accepts, as MessagePack. In the member named files, base64 data URLs
// become bin values. All numbers but integers become float 64. After ErrLongInteger, the only error, the appended bytes
// are invalid.
func FromJSON(dst, json []byte, files string) ([]byte, error) {
	p := packer{files: files}
	dst = p.appendValue(dst, bytes.TrimSpace(json), atTop)
	if p.long {
		return dst, ErrLongInteger
	}
	return dst, nil
}

// ErrLongInteger is an integer of more than 64 bits, which MessagePack lacks. A float would change its value.
var ErrLongInteger = errors.New("an integer has more than 64 bits, which MessagePack does not have")

// packer packs one document.
type packer struct {
	files string // the member that has files
	long  bool   // there was an integer of more than 64 bits
}

// The position of a value.
const (
	atTop = iota
	inside
	inFiles
)

func (p *packer) appendValue(dst, raw []byte, where int) []byte {
	switch rawjson.KindOf(raw) {
	case rawjson.KindNull:
		return msgp.AppendNil(dst)
	case rawjson.KindBool:
		return msgp.AppendBool(dst, raw[0] == 't')
	case rawjson.KindNumber:
		return p.appendNumber(dst, raw)
	case rawjson.KindString:
		return appendString(dst, raw, where == inFiles)
	case rawjson.KindArray:
		if where == atTop {
			where = inside
		}
		at, count := len(dst), uint32(0)
		dst = append(dst, 0)
		for r := rawjson.Array(raw); ; count++ {
			item, ok := r.Next()
			if !ok {
				var head [5]byte
				return slices.Replace(dst, at, at+1, msgp.AppendArrayHeader(head[:0], count)...)
			}
			dst = p.appendValue(dst, item, where)
		}
	}
	at, count := len(dst), uint32(0)
	dst = append(dst, 0)
	for r := rawjson.Object(raw); ; count++ {
		key, value, ok := r.Next()
		if !ok {
			var head [5]byte
			return slices.Replace(dst, at, at+1, msgp.AppendMapHeader(head[:0], count)...)
		}
		dst = appendText(dst, key)
		below := where
		if where == atTop {
			below = inside
			if rawjson.KeyIs(key, p.files) {
				below = inFiles
			}
		}
		dst = p.appendValue(dst, value, below)
	}
}

// appendText appends the text of a string, without its quotes.
func appendText(dst, text []byte) []byte {
	if bytes.IndexByte(text, '\\') >= 0 {
		return msgp.AppendString(dst, rawjson.KeyText(text))
	}
	return msgp.AppendStringFromBytes(dst, text)
}

func appendString(dst, raw []byte, files bool) []byte {
	text := raw[1 : len(raw)-1]
	if files {
		if encoded, ok := base64Of(text); ok {
			at := len(dst)
			size := len(encoded)/4*3 - bytes.Count(encoded[max(0, len(encoded)-2):], []byte{'='})
			dst = msgp.AppendBytesHeader(dst, uint32(size))
			dst = slices.Grow(dst, len(encoded)/4*3)
			content := len(dst)
			n, err := base64.StdEncoding.Strict().Decode(dst[content:content+len(encoded)/4*3], encoded)
			if err == nil && n == size {
				return dst[:content+n]
			}
			dst = dst[:at] // not base64: a text
		}
	}
	return appendText(dst, text)
}

// base64Of returns the base64 of a data URL, or false if text is not one.
func base64Of(text []byte) ([]byte, bool) {
	const scheme, mark = "data:", ";base64"
	if len(text) < len(scheme) || !bytes.EqualFold(text[:len(scheme)], []byte(scheme)) || uint64(len(text)) > 1<<32 {
		return nil, false
	}
	head, encoded, ok := bytes.Cut(text, []byte{','})
	if !ok || len(head) < len(mark) || !bytes.EqualFold(head[len(head)-len(mark):], []byte(mark)) {
		return nil, false
	}
	return encoded, len(encoded)%4 == 0
}

func (p *packer) appendNumber(dst, raw []byte) []byte {
	if !bytes.ContainsAny(raw, ".eE") {
		if v, err := strconv.ParseInt(string(raw), 10, 64); err == nil && string(raw) != "-0" {
			return msgp.AppendInt64(dst, v)
		}
		if v, err := strconv.ParseUint(string(raw), 10, 64); err == nil {
			return msgp.AppendUint64(dst, v)
		}
		p.long = p.long || string(raw) != "-0"
	}
	v, _ := strconv.ParseFloat(string(raw), 64) // beyond the range it is infinite
	return msgp.AppendFloat64(dst, v)
}
