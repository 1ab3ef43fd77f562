package trace

import "strings"

// Form is a form in which headers carry a context. The zero value is W3C's traceparent and tracestate.
type Form int

const (
	W3C     Form = iota
	B3           // Zipkin's, in the header b3
	B3Multi      // Zipkin's, in headers that begin with X-B3-
	Jaeger       // uber-trace-id
)

// The W3C headers: of a request's parent, and of what tracing systems add.
const (
	ParentHeader = "traceparent"
	StateHeader  = "tracestate"
)

const jaegerHeader = "uber-trace-id"

// read finds the context of a request in its headers. peek returns "" for a header that is absent.
func (f Form) read(peek func(name string) string) (c Context, ok bool) {
	switch f {
	case B3, B3Multi: // in OpenTelemetry too, each reads both
		if single := peek("b3"); single != "" {
			if c, ok = parseB3(single); ok {
				return c, ok
			}
		}
		return parseB3Fields(peek("X-B3-TraceId"), peek("X-B3-SpanId"), peek("X-B3-Sampled"), peek("X-B3-Flags") == "1")
	case Jaeger:
		return ParseJaeger(peek(jaegerHeader))
	}
	parent := peek(ParentHeader)
	if parent == "" {
		return Context{}, false
	}
	return Parse(parent, peek(StateHeader))
}

// write calls set with each header that carries a context.
func (f Form) write(c Context, set func(name, value string)) {
	switch f {
	case B3:
		set("b3", c.Trace.String()+"-"+c.Span.String()+"-"+c.flag())
	case B3Multi:
		set("X-B3-TraceId", c.Trace.String())
		set("X-B3-SpanId", c.Span.String())
		set("X-B3-Sampled", c.flag())
	case Jaeger:
		set(jaegerHeader, c.Jaeger())
	default:
		set(ParentHeader, c.Parent())
		if c.State != "" {
			set(StateHeader, c.State)
		}
	}
}

// parseB3 reads the header b3: trace-span-sampled-parent, of which the last two may be left out. A sampling decision
// without a trace is not a context.
func parseB3(header string) (c Context, ok bool) {
	fields := strings.Split(header, "-")
	if len(fields) < 2 || len(fields) > 4 {
		return Context{}, false
	}
	sampled := ""
	if len(fields) > 2 {
		sampled = fields[2]
	}
	return parseB3Fields(fields[0], fields[1], sampled, sampled == "d")
}

// parseB3Fields reads ids of 64 or 128 bits and of 64 bits. debug means that the client wants the trace sampled.
func parseB3Fields(id, span, sampled string, debug bool) (c Context, ok bool) {
	if len(id) != 16 && len(id) != 32 || len(span) != 16 || !pad(c.Trace[:], id) || !pad(c.Span[:], span) {
		return Context{}, false
	}
	switch sampled {
	case "1", "true", "True":
		c.Sampled = true
	case "", "0", "false", "False", "d":
		c.Sampled = debug
	default:
		return Context{}, false
	}
	c.Sampled = c.Sampled || debug
	return c, c.Valid()
}
