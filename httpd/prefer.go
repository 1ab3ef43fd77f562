package httpd

import (
	"bytes"
	"iter"
	"math"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/predict"
)

// answerMode is the mode of answer that a client asks for.
type answerMode struct {
	mode predict.Mode
	// bounded means that it waits for at most wait, then gets the current state.
	bounded bool
	wait    time.Duration
	raw     *[]byte // a body for the queue that is not JSON; nil means it is
	// orObject means that without a stream, the prediction object will do.
	orObject bool
}

// modeOf returns the mode of the prediction.
func (a answerMode) modeOf() predict.Mode {
	if a.bounded {
		return predict.Async // it continues after the client's wait
	}
	return a.mode
}

const headerPrefer = "Prefer"

// readMode reads the mode: a stream if Accept lists one and prefers no object to it, else what Prefer says.
func readMode(h *fasthttp.RequestHeader) answerMode {
	if stream, object := streamQuality(h); stream > 0 && stream >= object {
		return answerMode{mode: predict.Stream, orObject: object > 0}
	}
	return readPrefer(h)
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
		case bytes.EqualFold(name, []byte(contentSSE)):
			stream = max(stream, quality(params))
			continue
		case !known || form == asFile:
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

// readPrefer reads the mode from Prefer (RFC 7240). respond-async takes precedence over wait. Invalid preferences are
// ignored.
func readPrefer(h *fasthttp.RequestHeader) answerMode {
	var a answerMode
	if len(h.Peek(headerPrefer)) == 0 {
		return a
	}
	for item := range elements(h.PeekAll(headerPrefer)...) { // no parameter is known
		name, value, _ := bytes.Cut(item, []byte{'='})
		name, value = trim(name), trim(value)
		switch {
		case bytes.EqualFold(name, []byte("respond-async")):
			return answerMode{mode: predict.Async}
		case bytes.EqualFold(name, []byte("wait")) && !a.bounded: // the first one counts
			a.wait, a.bounded = readSeconds(value)
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
				if !yield(trim(element), params) {
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

func trim(b []byte) []byte { return bytes.Trim(b, " \t") }
