package negotiate

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"pinion/runtime/request"
)

// Rendering is the format of an answer.
type Rendering uint8

const (
	AsJSON Rendering = iota
	AsPack           // MessagePack
	AsFile           // the output itself
)

// Rendered returns the format that the client prefers (RFC 9110, section 12.5.1). Of equal weights a named type wins
// over "*/*", then the first one. Without a known type it is JSON. files means that the output itself is a choice.
func Rendered(h *fasthttp.RequestHeader, files bool) Rendering {
	first := h.Peek(fasthttp.HeaderAccept)
	if len(first) == 0 || string(first) == "*/*" || string(first) == TypeJSON {
		return AsJSON
	}
	best, most := AsJSON, 0
	for name, params := range elements(h.PeekAll(fasthttp.HeaderAccept)...) {
		form, named, known := renderingOf(name)
		if !known || form == AsFile && !files {
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
	return best
}

// Vary adds a request header to Vary.
func Vary(h *fasthttp.ResponseHeader, name string) {
	for _, known := range h.PeekAll(fasthttp.HeaderVary) {
		if string(known) == name {
			return
		}
	}
	h.Add(fasthttp.HeaderVary, name)
}

// renderingOf returns the format of an item of Accept. named means that the item is not a range of all types.
func renderingOf(name []byte) (form Rendering, named, known bool) {
	switch top, sub, _ := bytes.Cut(name, []byte{'/'}); {
	case bytes.EqualFold(top, []byte("image")), bytes.EqualFold(top, []byte("audio")),
		bytes.EqualFold(top, []byte("video")):
		return AsFile, true, true
	case string(name) == "*/*":
		return AsJSON, false, true
	case !bytes.EqualFold(top, []byte("application")):
		return AsJSON, false, false
	case string(sub) == "*":
		return AsJSON, false, true
	case bytes.EqualFold(sub, []byte("octet-stream")):
		return AsFile, true, true
	case request.IsMsgPack(name):
		return AsPack, true, true
	default:
		return AsJSON, true, request.IsJSON(name)
	}
}

// Accepts reports whether the client accepts that type. application/octet-stream accepts any file.
func Accepts(h *fasthttp.RequestHeader, contentType string, file bool) bool {
	t, _, _ := bytes.Cut([]byte(contentType), []byte{';'})
	top, sub, _ := bytes.Cut(Trim(t), []byte{'/'})
	best, weight := -1, 0 // the most specific item decides
	for name, params := range elements(h.PeekAll(fasthttp.HeaderAccept)...) {
		wantTop, wantSub, _ := bytes.Cut(name, []byte{'/'})
		exact := -1
		switch {
		case bytes.EqualFold(wantTop, top) && bytes.EqualFold(wantSub, sub):
			exact = 3
		case bytes.EqualFold(wantTop, top) && string(wantSub) == "*":
			exact = 2
		case file && bytes.EqualFold(name, []byte("application/octet-stream")):
			exact = 1
		case string(name) == "*/*":
			exact = 0
		}
		if exact > best {
			best, weight = exact, quality(params)
		}
	}
	return weight > 0
}

// quality returns the weight in thousandths; 1000 if it is absent or invalid.
func quality(params []byte) int {
	for len(params) > 0 {
		var param []byte
		param, params = cutUnquoted(params, ';')
		key, value, _ := bytes.Cut(param, []byte{'='})
		if !bytes.EqualFold(Trim(key), []byte{'q'}) {
			continue
		}
		whole, fraction, _ := bytes.Cut(Trim(value), []byte{'.'})
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

// IsBrowser reports whether a client asks for a page: browsers name text/html when a user opens an address.
func IsBrowser(h *fasthttp.RequestHeader) bool {
	return bytes.Contains(h.Peek(fasthttp.HeaderAccept), []byte("text/html"))
}
