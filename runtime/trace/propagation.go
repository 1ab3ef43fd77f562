package trace

import "iter"

// Propagation is what a request's headers hand on to everything done for it: the model, the models that it calls,
// webhooks, uploads, the log and the job queue. The zero value hands nothing on.
type Propagation struct {
	// RequestID is the client's X-Request-Id; "" if it sent none.
	RequestID string `json:"request_id,omitempty"`
	// TraceParent and TraceState are the W3C trace headers: the client's, or those of the request's span.
	TraceParent string `json:"traceparent,omitempty"`
	TraceState  string `json:"tracestate,omitempty"`
}

// MaxRequestID is the longest X-Request-Id in bytes.
const MaxRequestID = 200

// Headers is each header by its name, with the field that holds its value. It is the only list of them.
func (p *Propagation) Headers() iter.Seq2[string, *string] {
	return func(yield func(string, *string) bool) {
		_ = yield("X-Request-Id", &p.RequestID) && yield("traceparent", &p.TraceParent) &&
			yield("tracestate", &p.TraceState)
	}
}

// ReadPropagation reads a request's headers. values returns all values of a header, which are joined by commas where it
// is a list; a value that is not printable ASCII is ignored. traced: the request has a Trace, whose context replaces
// the client's.
func ReadPropagation[T string | []byte](traced bool, values func(name string) []T) (p Propagation) {
	if id := values("X-Request-Id"); len(id) > 0 && ValidRequestID(id[0]) {
		p.RequestID = string(id[0])
	}
	if traced {
		return p
	}
	if parent := values("traceparent"); len(parent) > 0 && printable(parent[0]) {
		p.TraceParent = string(parent[0])
	}
	if p.TraceParent != "" {
		p.TraceState = list(values("tracestate"))
	}
	return p
}

// ValidRequestID reports whether a value of X-Request-Id is handed on.
func ValidRequestID[T string | []byte](id T) bool {
	return len(id) > 0 && len(id) <= MaxRequestID && printable(id)
}

// list joins the values of a header that is a list; "" if one is not printable.
func list[T string | []byte](values []T) (joined string) {
	for i, value := range values {
		if !printable(value) {
			return ""
		}
		if i > 0 {
			joined += ","
		}
		joined += string(value)
	}
	return joined
}

func printable[T string | []byte](text T) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// SetHeaders calls set with each header of an outgoing request. If t is not nil, c, one of its spans, replaces the
// context of p. Values that are not printable ASCII are left out: net/http would refuse the whole request.
func (p *Propagation) SetHeaders(t *Trace, c Context, set func(name, value string)) {
	sent := *p
	if t != nil {
		sent.TraceParent, sent.TraceState = "", ""
		t.Headers(c, func(name, value string) {
			if value != "" && printable(value) {
				set(name, value)
			}
		})
	}
	for name, value := range sent.Headers() {
		if *value != "" && printable(*value) {
			set(name, *value)
		}
	}
}
