package negotiate

import (
	"bytes"
	"iter"
	"math"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/predict"
)

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
