package schema

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// isFileURL tells whether what stands between quotes is a URL that files can be had from. How the
// data of a data URL is encoded is left to package files.
func isFileURL(text []byte) bool {
	if len(text) > 0 && text[0] == 0 {
		return true // the stand-in of an attached file: no client can write that byte
	}
	// The scheme alone is looked at first, for the rest may be megabytes.
	head := text[:min(len(text), len(`\u0068`)*len("https://"))]
	if bytes.IndexByte(head, '\\') >= 0 || !hasScheme(text, "data:") && bytes.IndexByte(text, '\\') >= 0 {
		text = rawjson.AppendText(nil, text)
	}
	if hasScheme(text, "data:") {
		return bytes.IndexByte(text, ',') > 0
	}
	if !hasScheme(text, "http://") && !hasScheme(text, "https://") {
		return false
	}
	u, err := url.Parse(string(text))
	return err == nil && u.Hostname() != ""
}

func hasScheme(text []byte, scheme string) bool {
	return len(text) >= len(scheme) && strings.EqualFold(string(text[:len(scheme)]), scheme)
}

// alias is the text of a string value, without a copy where it has no escapes.
func alias(raw []byte) string {
	text := inner(raw)
	if bytes.IndexByte(text, '\\') >= 0 {
		return rawjson.KeyText(text)
	}
	return unsafe.String(unsafe.SliceData(text), len(text))
}

// collect appends the files that raw names. raw is valid and stands at base in the input. A file
// may come twice where several schemas judge the same value.
func (n *node) collect(list []File, raw []byte, base int, field string) []File {
	if !n.hasURI {
		return list
	}
	switch rawjson.KindOf(raw) {
	case rawjson.KindString:
		if number, _, ok := predict.ReadStandIn(raw); ok && n.uri {
			return append(list, File{Field: field, Start: base, End: base + len(raw), Attached: number})
		}
		if n.uri {
			return append(list, File{Field: field, Start: base, End: base + len(raw), URL: alias(raw)})
		}
	case rawjson.KindArray:
		i := 0
		for r := rawjson.Array(raw); ; i++ {
			item, ok := r.Next()
			if !ok {
				break
			}
			if part := n.item(i); part != nil && part.hasURI {
				list = part.collect(list, item, base+r.Offset(), below(field, strconv.Itoa(i)))
			}
		}
	case rawjson.KindObject:
		last := map[string]int{} // where the one of equal keys stands that counts
		for r := rawjson.Object(raw); ; {
			key, _, ok := r.Next()
			if !ok {
				break
			}
			last[rawjson.KeyText(key)] = r.Offset()
		}
		for r := rawjson.Object(raw); ; {
			key, value, ok := r.Next()
			if !ok {
				break
			}
			name := rawjson.KeyText(key)
			if last[name] != r.Offset() {
				continue
			}
			parts, _ := n.member(name)
			for _, part := range parts {
				list = part.collect(list, value, base+r.Offset(), below(field, pointer(name)))
			}
		}
	}
	for _, part := range n.allOf {
		list = part.collect(list, raw, base, field)
	}
	branches := n.anyOf
	if n.rare != nil {
		branches = slices.Concat(branches, n.rare.oneOf)
		if branch := n.rare.branch(raw); branch != nil {
			list = branch.collect(list, raw, base, field)
		}
	}
	for _, branch := range branches {
		if branch.hasURI && branch.accepts(raw) {
			list = branch.collect(list, raw, base, field)
		}
	}
	return list
}

// pointer escapes a key for a field's path, as JSON pointers do.
func pointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}
