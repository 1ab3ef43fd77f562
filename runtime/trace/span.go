package trace

import "time"

type Kind uint8

const (
	Internal Kind = iota
	Server
	Client
)

// Span is one part of a trace. It is not safe for concurrent use.
type Span struct {
	Name       string
	Kind       Kind
	Context    Context
	Parent     SpanID
	Remote     bool  // the parent is another program's
	Worker     bool  // it stands for work of a worker
	Start, End int64 // in nanoseconds since 1970
	Attrs      Attrs
	Failed     bool
	Message    string    // why it failed
	Exception  Exception // what ended it
	Raised     int64     // when the exception was raised, as Start
	Links      []Context
}

// Exception is an exception as OpenTelemetry's conventions have it.
type Exception struct {
	Type    string // "": there is none
	Message string
	Stack   string // "": it is not known
}

// Fail marks the span as failed, with an exception event.
func (s *Span) Fail(at time.Time, kind, message string) {
	s.Raise(at.UnixNano(), message, Exception{Type: kind, Message: message})
}

// Raise does the same for an exception of the model.
func (s *Span) Raise(at int64, message string, e Exception) {
	s.Failed, s.Message, s.Exception, s.Raised = true, message, e, at
}
