package trace

import "time"

// Kind is the role of a span.
type Kind uint8

const (
	Internal Kind = iota
	Server
	Client
)

// AttrType is the type of an attribute's value.
type AttrType uint8

const (
	TypeText AttrType = iota
	TypeInt
	TypeFloat
	TypeTexts
)

// Attr is an attribute. Its value is in the field that Type names.
type Attr struct {
	Key   string
	Type  AttrType
	Text  string
	Int   int64
	Float float64
	Texts []string
}

// Text is an attribute with a text.
func Text(key, value string) Attr { return Attr{Key: key, Text: value} }

// Int is an attribute with a whole number.
func Int(key string, value int64) Attr { return Attr{Key: key, Int: value, Type: TypeInt} }

// Float is an attribute with a number.
func Float(key string, value float64) Attr { return Attr{Key: key, Float: value, Type: TypeFloat} }

// Texts is an attribute with a list of texts.
func Texts(key string, values []string) Attr { return Attr{Key: key, Texts: values, Type: TypeTexts} }

// Event is something that happened at a moment of a span.
type Event struct {
	Name  string
	At    time.Time
	Attrs []Attr
}

// Span is one part of a trace. It is not safe for concurrent use.
type Span struct {
	Name       string
	Kind       Kind
	Context    Context
	Parent     SpanID
	Remote     bool // the parent is another program's
	Worker     bool // it stands for something that a worker did
	Start, End time.Time
	Attrs      []Attr
	Failed     bool
	Message    string // why it failed
	Events     []Event
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
	s.Failed, s.Message = true, message
	s.Events = append(s.Events, Event{Name: "exception", At: at, Attrs: []Attr{
		Text("exception.type", kind), Text("exception.message", message),
	}})
}
