package predict

import (
	"time"

	"pinion/runtime/rawjson"
)

// Kind tells predictions from trainings. Each has ids of its own.
type Kind uint8

const (
	KindPrediction Kind = iota
	KindTraining
)

// Mode is how the client wants to be answered.
type Mode uint8

const (
	Sync   Mode = iota // with the result
	Async              // at once; the result is polled for, or comes by webhook
	Stream             // with the events as they happen
)

// Events is a set of the events that a webhook is told of.
type Events uint8

const (
	OnStart Events = 1 << iota
	OnOutput
	OnLogs
	OnCompleted

	AllEvents = OnStart | OnOutput | OnLogs | OnCompleted
)

// Request is what a client asks for, as httpd read it. All byte slices are the request's own:
// they stay valid for the life of the prediction.
type Request struct {
	ID   string // "" lets the service make one
	Kind Kind
	Mode Mode
	// Idempotent: it was asked for by PUT, so that others may join it.
	Idempotent bool
	Input      []byte        // a JSON object, strictly valid (package rawjson)
	Lists      rawjson.Lists // where long lists stand in Input, as it came
	Context    []byte        // a JSON object of strings, or nil
	// Body is the memory in which other slices lie, if it may be used again when the prediction is over and nobody can
	// ask for it any more.
	Body []byte
	// Charged is how many bytes the server's memory budget was charged for the memory in which the slices lie. They are the
	// prediction's once Create has succeeded, and the caller's to free until then.
	Charged int64
	// Form is what a form adds to Input, in its order; the schema reads it. Its slices are the request's own.
	Form []FormField
	// Attachments are the files that came in the request's body; nil: none did. Input, or Form, has a stand-in for
	// each (AppendStandIn). They are the prediction's once Create has succeeded, and the caller's until then.
	Attachments Attachments
	// Created is the client's created_at where it gave one; zero: now. CreatedText is that as it was
	// written, to be echoed; "" where it was not given.
	Created     time.Time
	CreatedText string
	// WantFile: the client takes an output file as it is. Where nobody else can ask for the prediction, it is given in
	// Prediction.File, and Record.Output means nothing.
	WantFile bool
	// Webhook is the URL to be told of WebhookEvents; "" for none.
	Webhook       string
	WebhookEvents Events
	// OutputPrefix is the URL to which output files are uploaded; "": the server's own, if it has one.
	OutputPrefix string
	// TraceParent and TraceState are the request's W3C trace headers, to be passed on.
	TraceParent, TraceState string
	// RequestID is the client's X-Request-Id, for logs and webhooks; "" where it sent none.
	RequestID string
	// Deadline is when it is too late to begin; zero: the server's own rule.
	Deadline time.Time
}

// told tells whether anybody may want to know of the prediction before its end: whoever has its id can
// join it or look at it, and nobody has the id of a plain request before its answer.
func (r *Request) told() bool {
	return r.Mode != Sync || r.Idempotent || r.ID != "" || r.Webhook != ""
}
