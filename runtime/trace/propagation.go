package trace

// Propagation holds the values of a request's headers that are passed on to everything done for it: the model, the
// models that it calls, webhooks, uploads, the log and the job queue. The zero value passes nothing on.
type Propagation struct {
	// RequestID is the client's X-Request-Id; "" if it sent none.
	RequestID string `json:"request_id,omitempty"`
	// TraceParent and TraceState are the W3C trace headers: the client's, or those of the request's span.
	TraceParent string `json:"traceparent,omitempty"`
	TraceState  string `json:"tracestate,omitempty"`
}

// MaxRequestID is the longest X-Request-Id in bytes.
const MaxRequestID = 200

// Header is one of the headers that are passed on.
type Header struct {
	Name  string
	Max   int  // the longest value in bytes; 0 means no limit but that of a request's headers
	List  bool // its values are joined by commas; otherwise the first one counts
	Trace bool // it belongs to a trace: a request with a Trace has the values of its span
	Model bool // the model gets it in its context
}

// headers are those that are passed on. All code that reads, sends, stores or shows them uses this list.
var headers = [...]Header{
	{Name: "X-Request-Id", Max: MaxRequestID},
	{Name: ParentHeader, Trace: true, Model: true},
	{Name: StateHeader, Trace: true, Model: true, List: true},
}

// Values returns the fields of the headers, in their order. HeaderOf has the header of each.
func (p *Propagation) Values() [len(headers)]*string {
	return [...]*string{&p.RequestID, &p.TraceParent, &p.TraceState}
}

// HeaderOf returns the header of a value by its index in Values. They are separate so that a Propagation need not be on
// the heap to be read.
func HeaderOf(i int) *Header { return &headers[i] }

// ReadPropagation reads a request's headers. values returns all values of a header; one that is too long or not
// printable ASCII is ignored. traced means that the request has a Trace, whose context replaces the client's.
func ReadPropagation[T string | []byte](traced bool, values func(name string) []T) (p Propagation) {
	for i, value := range p.Values() {
		h := HeaderOf(i)
		found := values(h.Name)
		switch {
		case len(found) == 0 || h.Trace && traced:
		case h.List:
			*value = list(found)
		case fits(found[0], h.Max):
			*value = string(found[0])
		}
	}
	if p.TraceParent == "" {
		p.TraceState = "" // a state belongs to a parent
	}
	return p
}

// ValidRequestID reports whether a value of X-Request-Id is passed on.
func ValidRequestID[T string | []byte](id T) bool {
	return len(id) > 0 && fits(id, MaxRequestID)
}

// fits reports whether a value is passed on. most is Header.Max.
func fits[T string | []byte](value T, most int) bool {
	return (most == 0 || len(value) <= most) && printable(value)
}

// list joins the values of a header that is a list. It returns "" if one is not printable.
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
	if t != nil {
		t.Headers(c, func(name, value string) {
			if value != "" && printable(value) {
				set(name, value)
			}
		})
	}
	for i, value := range p.Values() {
		h := HeaderOf(i)
		if *value != "" && printable(*value) && (t == nil || !h.Trace) {
			set(h.Name, *value)
		}
	}
}
