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
	Exception  string    // the type of the exception that ended it, or ""
	Raised     time.Time // when the exception was raised
	Links      []Context
}

// Ended sets the end of the span, which is not before its start.
func (s *Span) Ended(at time.Time) {
	if s.End = at; at.Before(s.Start) {
		s.End = s.Start
	}
}

// Fail marks the span as failed, with an exception event.
func (s *Span) Fail(at time.Time, kind, message string) {
	s.Failed, s.Message, s.Exception, s.Raised = true, message, kind, at
}
