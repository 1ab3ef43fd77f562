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
	Remote     bool // the parent is another program's
	Worker     bool // it stands for work of a worker
	Start, End time.Time
	Attrs      Attrs
	Failed     bool
	Message    string    // why it failed
	Exception  Exception // what ended it
	Raised     time.Time // when the exception was raised
	Links      []Context
}

// Exception is an exception as OpenTelemetry's conventions have it.
type Exception struct {
	Type    string // "": there is none
	Message string
	Stack   string // "": it is not known
}

// Ended sets the end of the span, which is not before its start.
func (s *Span) Ended(at time.Time) {
	if s.End = at; at.Before(s.Start) {
		s.End = s.Start
	}
}

// Fail marks the span as failed, with an exception event.
func (s *Span) Fail(at time.Time, kind, message string) {
	s.Raise(at, message, Exception{Type: kind, Message: message})
}

// Raise does the same for an exception of the model.
func (s *Span) Raise(at time.Time, message string, e Exception) {
	s.Failed, s.Message, s.Exception, s.Raised = true, message, e, at
}
