package httpd

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// rendering is the form of an answer.
type rendering uint8

const (
	asJSONText rendering = iota
	asPack               // MessagePack
	asFile               // the output itself
)

const contentPack = "application/msgpack"

// rendered is the form in which the client likes best to be answered (RFC 9110, section 12.5.1): of equal weights a
// type that is named goes before a range of all, and then the first. Where nothing that it accepts is known it is JSON.
// files: the output itself may be asked for.
func rendered(h *fasthttp.RequestHeader, files bool) rendering {
	first := h.Peek(fasthttp.HeaderAccept)
	if len(first) == 0 || string(first) == "*/*" || string(first) == contentJSON {
		return asJSONText
	}
	best, most := asJSONText, 0
	for _, line := range h.PeekAll(fasthttp.HeaderAccept) {
		for len(line) > 0 {
			var item []byte
			item, line = cutUnquoted(line, ',')
			name, params := cutUnquoted(item, ';')
			form, named, known := renderingOf(trim(name))
			if !known || form == asFile && !files {
				continue
			}
			weight := 2 * quality(params)
			if named && weight > 0 {
				weight++
			}
			if weight > most {
				best, most = form, weight
			}
		}
	}
	return best
}

// varies says that the answer depends on a header of the request.
func varies(h *fasthttp.ResponseHeader, name string) {
	for _, known := range h.PeekAll(fasthttp.HeaderVary) {
		if string(known) == name {
			return
		}
	}
	h.Add(fasthttp.HeaderVary, name)
}

// renderingOf is the form that an item of Accept asks for. named: it is more than a range of all types.
func renderingOf(name []byte) (form rendering, named, known bool) {
	switch top, sub, _ := bytes.Cut(name, []byte{'/'}); {
	case bytes.EqualFold(top, []byte("image")), bytes.EqualFold(top, []byte("audio")), bytes.EqualFold(top, []byte("video")):
		return asFile, true, true
	case string(name) == "*/*":
		return asJSONText, false, true
	case !bytes.EqualFold(top, []byte("application")):
		return asJSONText, false, false
	case string(sub) == "*":
		return asJSONText, false, true
	case bytes.EqualFold(sub, []byte("octet-stream")):
		return asFile, true, true
	case isPack(name):
		return asPack, true, true
	default:
		return asJSONText, true, isJSON(name)
	}
}

// isPack tells whether a media type is that of MessagePack, by the name that IANA has for it, or
// by those that libraries use.
func isPack(contentType []byte) bool {
	t, _, _ := bytes.Cut(contentType, []byte{';'})
	switch string(bytes.ToLower(trim(t))) {
	case "application/vnd.msgpack", contentPack, "application/x-msgpack":
		return true
	}
	return false
}

// accepts tells whether the client takes an answer of that type. An octet-stream is any file.
func accepts(h *fasthttp.RequestHeader, contentType string, file bool) bool {
	t, _, _ := bytes.Cut([]byte(contentType), []byte{';'})
	top, sub, _ := bytes.Cut(trim(t), []byte{'/'})
	best, weight := -1, 0 // the most specific item says it
	for _, line := range h.PeekAll(fasthttp.HeaderAccept) {
		for len(line) > 0 {
			var item []byte
			item, line = cutUnquoted(line, ',')
			name, params := cutUnquoted(item, ';')
			wantTop, wantSub, _ := bytes.Cut(trim(name), []byte{'/'})
			exact := -1
			switch {
			case bytes.EqualFold(wantTop, top) && bytes.EqualFold(wantSub, sub):
				exact = 3
			case bytes.EqualFold(wantTop, top) && string(wantSub) == "*":
				exact = 2
			case file && bytes.EqualFold(trim(name), []byte("application/octet-stream")):
				exact = 1
			case string(trim(name)) == "*/*":
				exact = 0
			}
			if exact > best {
				best, weight = exact, quality(params)
			}
		}
	}
	return weight > 0
}

// quality is the weight among parameters, in thousandths; 1000 where there is none, and where it cannot be read.
func quality(params []byte) int {
	for len(params) > 0 {
		var param []byte
		param, params = cutUnquoted(params, ';')
		key, value, _ := bytes.Cut(param, []byte{'='})
		if !bytes.EqualFold(trim(key), []byte{'q'}) {
			continue
		}
		whole, fraction, _ := bytes.Cut(trim(value), []byte{'.'})
		if len(whole) != 1 || whole[0] > '1' || whole[0] < '0' || len(fraction) > 3 {
			return 1000
		}
		q, unit := 1000*int(whole[0]-'0'), 100
		for _, d := range fraction {
			if d < '0' || d > '9' {
				return 1000
			}
			q += unit * int(d-'0')
			unit /= 10
		}
		return min(q, 1000)
	}
	return 1000
}
