package negotiate

import (
	"bytes"
	"iter"
	"math"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/predict"
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

// Mode is the mode of answer that a client asks for.
type Mode struct {
	Kind predict.Mode
	// Bounded means that it waits for at most wait, then gets the current state.
	Bounded bool
	Wait    time.Duration
	// OrObject means that without a stream, the prediction object will do.
	OrObject bool
}

// Prediction returns the mode of the prediction.
func (a Mode) Prediction() predict.Mode {
	if a.Bounded {
		return predict.Async // it continues after the client's wait
	}
	return a.Kind
}

const headerPrefer = "Prefer"

// ReadMode reads the mode: a stream if Accept lists one and prefers no object to it, else what Prefer says.
func ReadMode(h *fasthttp.RequestHeader) Mode {
	if stream, object := streamQuality(h); stream > 0 && stream >= object {
		return Mode{Kind: predict.Stream, OrObject: object > 0}
	}
	return ReadPrefer(h)
}

// WantsStream reports whether Accept lists a stream and prefers no object to it. iterates means that the model yields items; if
// it does not, an acceptable object is preferred.
func WantsStream(h *fasthttp.RequestHeader, iterates bool) bool {
	stream, object := streamQuality(h)
	return stream > 0 && stream >= object && (iterates || object == 0)
}

// streamQuality returns the weights that Accept gives to a stream, which it must list, and to an object.
func streamQuality(h *fasthttp.RequestHeader) (stream, object int) {
	if len(h.Peek(fasthttp.HeaderAccept)) == 0 {
		return 0, 0
	}
	exact := -1 // of the object: the most specific item decides
	for name, params := range elements(h.PeekAll(fasthttp.HeaderAccept)...) {
		form, named, known := renderingOf(name)
		rank := 0
		switch {
		case bytes.EqualFold(name, []byte(TypeEventStream)):
			stream = max(stream, quality(params))
			continue
		case !known || form == AsFile:
			continue
		case named:
			rank = 2
		case string(name) != "*/*":
			rank = 1
		}
		if q := quality(params); rank > exact || rank == exact && q > object {
			exact, object = rank, q
		}
	}
	return stream, object
}

// ReadPrefer reads the mode from Prefer (RFC 7240). respond-async takes precedence over wait. Invalid preferences are
// ignored.
func ReadPrefer(h *fasthttp.RequestHeader) Mode {
	var a Mode
	if len(h.Peek(headerPrefer)) == 0 {
		return a
	}
	for item := range elements(h.PeekAll(headerPrefer)...) { // no parameter is known
		name, value, _ := bytes.Cut(item, []byte{'='})
		name, value = Trim(name), Trim(value)
		switch {
		case bytes.EqualFold(name, []byte("respond-async")):
			return Mode{Kind: predict.Async}
		case bytes.EqualFold(name, []byte("wait")) && !a.Bounded: // the first one counts
			a.Wait, a.Bounded = readSeconds(value)
		}
	}
	return a
}

// readSeconds reads a number of seconds, quoted or not.
func readSeconds(value []byte) (time.Duration, bool) {
	if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
		value = value[1 : n-1]
	}
	if len(value) == 0 {
		return 0, false
	}
	const most = int64(math.MaxInt64 / time.Second)
	seconds := int64(0)
	for _, b := range value {
		if b < '0' || b > '9' {
			return 0, false
		}
		seconds = min(seconds*10+int64(b-'0'), most/10-1) // longer than any server runs
	}
	return time.Duration(seconds) * time.Second, true
}

// elements yields the elements of a header's lines (RFC 9110, section 5.6.1), each without and with its parameters.
func elements(lines ...[]byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(element, params []byte) bool) {
		for _, line := range lines {
			for len(line) > 0 {
				var item []byte
				item, line = cutUnquoted(line, ',')
				element, params := cutUnquoted(item, ';')
				if !yield(Trim(element), params) {
					return
				}
			}
		}
	}
}

// cutUnquoted cuts b at the first sep outside a quoted string.
func cutUnquoted(b []byte, sep byte) (before, after []byte) {
	quoted := false
	for i := 0; i < len(b); i++ {
		switch {
		case quoted && b[i] == '\\':
			i++
		case b[i] == '"':
			quoted = !quoted
		case b[i] == sep && !quoted:
			return b[:i], b[i+1:]
		}
	}
	return b, nil
}

func Trim(b []byte) []byte { return bytes.Trim(b, " \t") }

// maxJobWait is how long Prefer: wait lets a client of another protocol wait.
const maxJobWait = time.Minute

// ReadJobMode returns the mode of a job: it is awaited for a bounded time, or not at all.
func ReadJobMode(h *fasthttp.RequestHeader) Mode {
	how := ReadPrefer(h)
	switch {
	case how.Kind == predict.Async:
	case how.Bounded && how.Wait > 0:
		how.Wait = min(how.Wait, maxJobWait)
	case prefersWait(h):
		how = Mode{Bounded: true, Wait: maxJobWait}
	default:
		how = Mode{Kind: predict.Async}
	}
	return how
}

// prefersWait reports whether Prefer has a wait without a number.
func prefersWait(h *fasthttp.RequestHeader) bool {
	for item := range elements(h.PeekAll(headerPrefer)...) {
		if bytes.EqualFold(item, []byte("wait")) {
			return true
		}
	}
	return false
}
