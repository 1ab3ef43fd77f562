package schema

import (
	"slices"
	"strconv"

	"pinion/runtime/rawjson"
)

// canonical writes a value so that values that are equal in JSON Schema have equal texts: one form of escapes, numbers
// by value, members sorted, and only the last of equal keys.
func canonical(raw []byte) string { return string(appendCanonical(nil, raw)) }

func appendCanonical(out, raw []byte) []byte {
	switch rawjson.KindOf(raw) {
	case rawjson.KindString:
		return rawjson.AppendQuoted(out, rawjson.Text(raw))
	case rawjson.KindNumber:
		return parseDecimal(raw).appendCanonical(out)
	case rawjson.KindArray:
		out = append(out, '[')
		for _, item := range rawjson.Items(raw) {
			out = append(appendCanonical(out, item), ',')
		}
		return append(out, ']')
	case rawjson.KindObject:
		keys, values := members(raw)
		slices.Sort(keys)
		out = append(out, '{')
		for _, key := range keys {
			out = append(rawjson.AppendQuoted(out, key), ':')
			out = append(appendCanonical(out, values[key]), ',')
		}
		return append(out, '}')
	}
	return append(out, raw...)
}

// appendCanonical writes the sign, the digits and the power of ten.
func (d decimal) appendCanonical(out []byte) []byte {
	if len(d.digits) == 0 {
		return append(out, '0')
	}
	if d.negative {
		out = append(out, '-')
	}
	for _, c := range d.digits {
		if c != '.' {
			out = append(out, c)
		}
	}
	return strconv.AppendInt(append(out, 'e'), d.exp, 10)
}
