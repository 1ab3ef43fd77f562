package protocol

import "time"

// Generation is how a request to a generative model went, for metrics. OpenTelemetry's conventions for GenAI have
// names for its fields.
type Generation struct {
	Operation string // gen_ai.operation.name
	Model     string
	Status    int // the HTTP status; of a stream that failed after its beginning, that of its error
	Took      time.Duration
	// FirstToken is the time to the first item of a stream, and PerToken that between two; 0 means not known.
	FirstToken, PerToken time.Duration
}

// OnGeneration returns the function that a protocol calls at the end of a generation, or nil if it is not wanted. It is
// called once, by any goroutine, also after the exchange.
func (x *Exchange) OnGeneration() func(Generation) { return x.host.OnGeneration() }
