package schema

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
	"unsafe"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// isFileURL reports whether a string without its quotes is a URL from which files can be fetched. Package files checks
// the content of data URLs.
func isFileURL(text []byte) bool {
	if len(text) > 0 && text[0] == 0 {
		return true // a placeholder: no client can send that byte
	}
	// Check only the scheme first, because the rest may be megabytes.
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

// alias returns the text of a string value, without a copy if it has no escapes.
func alias(raw []byte) string {
	text := inner(raw)
	if bytes.IndexByte(text, '\\') >= 0 {
		return rawjson.KeyText(text)
	}
	return unsafe.String(unsafe.SliceData(text), len(text))
}

// collect appends the files that raw names. raw is valid and at offset base in the input. A file may be appended twice
// if several schemas apply to the same value.
func (n *node) collect(list []File, raw []byte, base int, field string) []File {
	if !n.hasURI {
		return list
	}
	switch rawjson.KindOf(raw) {
	case rawjson.KindString:
		if number, _, ok := predict.ReadPlaceholder(raw); ok && n.namesFile() {
			return append(list, File{
				Field: field, Start: base, End: base + len(raw), Attached: number, Content: n.format == base64Text,
			})
		}
		if n.format == fileURL || n.fromFile {
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
		last := map[string]int{} // offset of the last of equal keys
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
	for _, branch := range n.choices() {
		if branch.hasURI && branch.accepts(raw) {
			list = branch.collect(list, raw, base, field)
		}
	}
	return list
}

// pointer escapes a key for a field's path, like a JSON pointer.
func pointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}
