package predict

import (
	"time"

	"pinion/runtime/memory"
	"pinion/runtime/rawjson"
	"pinion/runtime/trace"
)

// Kind separates predictions from trainings. Each kind has its own ids.
type Kind uint8

const (
	KindPrediction Kind = iota
	KindTraining
)

// FunctionID returns the id by which a prediction of a function is found; an id has no slash.
func FunctionID(function, id string) string {
	if function == "" {
		return id
	}
	return function + "/" + id
}

// Mode is how the client wants the answer.
type Mode uint8

const (
	Sync   Mode = iota // the result
	Async              // an immediate answer; the client polls, or gets a webhook
	Stream             // the events as they happen
)

// Events is a set of the events that a webhook sends.
type Events uint8

const (
	OnStart Events = 1 << iota
	OnOutput
	OnLogs
	OnCompleted

	AllEvents = OnStart | OnOutput | OnLogs | OnCompleted
)

// Request is a client's request as httpd read it. Its byte slices stay valid for the life of the prediction.
type Request struct {
	ID   string // "" means the service generates one
	Kind Kind
	// Function names the function of the model that makes the prediction; "" means its own. Each has its own ids.
	Function string
	Mode     Mode
	// Idempotent means that the request is a PUT, so other requests may join the prediction.
	Idempotent bool
	// WantFile means that the client accepts an output file as it is. If no other client can ask for the prediction, the
	// file is in Prediction.File, and Record.Output has no meaning.
	WantFile bool
	// WantPaths means that files of the output stay in a folder, Prediction.Folder, and have marks in the output.
	WantPaths bool
	// WantTensors means that the output may have tensors, which are in Result.Tensors, and placeholders in their places.
	WantTensors bool
	// EmitsItems means that the items that the model yields are needed one by one, although no client asks for them,
	// because their files are uploaded as they come.
	EmitsItems bool
	// AnyStream means that a model without @cog.streaming may stream too.
	AnyStream bool
	// Streams means that a stream may answer the request. Create sets it.
	Streams bool
	// Inlet has the items of the streamed input, which is not in Input; nil means that Input has all.
	Inlet   *Inlet
	Input   []byte        // a JSON object, strictly valid (package rawjson)
	Lists   rawjson.Lists // offsets of long lists in Input, as the client sent it
	Context []byte        // a JSON object of strings, or nil
	// Body is the buffer that the other slices share, if it may be reused once the prediction is neither running nor
	// retained.
	Body []byte
	// Disk is the file that holds the other slices; nil means memory holds them. The caller unmaps it, unless Create
	// succeeded: then the prediction owns it.
	Disk DiskBody
	// Shared is the memory that holds the other slices, if a worker can read it too; nil means it cannot. The caller frees
	// it, unless Create succeeded: then the prediction owns it.
	Shared *memory.Shared
	// Charged is how many bytes of the memory budget the slices take. The caller frees them, unless Create succeeded:
	// then the prediction owns them.
	Charged int64
	// Copy is the budget of a request's copy, whose answer no client gets: its prediction is charged there, and not
	// retained. nil means the request is no copy.
	Copy *memory.Budget
	// Form are the fields that a form adds to Input, in order; the schema reads them.
	Form []FormField
	// Digest identifies the input of a request that gets the stored result if it is repeated; "" means it does not.
	Digest string
	// UnknownKeys are the unknown keys outside the input, or nil.
	UnknownKeys *UnknownKeys
	// Attachments are the files of the request's body, or nil. Input, or Form, has a placeholder for each. The caller
	// closes them, unless Create succeeded: then the prediction owns them.
	Attachments Attachments
	// Tensors are arrays for which Input has placeholders (AppendTensor), or nil. Each is a numpy array, or a number
	// that is not finite.
	Tensors []Tensor
	// Created is the client's created_at; zero means now. CreatedText is its text, which answers echo.
	Created     time.Time
	CreatedText string
	// Items receives the items that the model yields, which the record then does not have. Tensors are in their places, as
	// the worker sent them. It must not block or keep the item. pause makes the model wait before its next item, or go on,
	// and may be called at any time. If nil, the record has the items.
	Items func(item []byte, pause func(bool))
	// Version is the version of the model that runs it; "" if the model has no versions, or any may run it.
	Version string
	// Callers are the models that called this one, in order, the first of them called by a client; nil if a client called
	// this one.
	Callers []string
	// Members are further members of the prediction's object, for protocols that have more. Each begins with a comma.
	Members []byte
	// Webhook is the URL that receives WebhookEvents; "" means none.
	Webhook       string
	WebhookEvents Events
	// OutputPrefix is the URL to which output files are uploaded; "" means the server's, if it has one.
	OutputPrefix string
	// Propagation is what the request's headers hand on to the model, webhooks and uploads.
	trace.Propagation
	// Trace records the request; nil means it is not traced.
	Trace *trace.Trace
	// Span adds attributes to the prediction's span, or is nil.
	Span *SpanAttrs
	// Deadline is the time by which the prediction must begin; zero means the server's default.
	Deadline time.Time
	// Class is how urgent a job of the queue is: hi, std or lo; "" means the middle one.
	Class  string
	Tenant string // whose job it is; "" means that of all
	// Group is the request of another protocol whose rows are separate predictions, or nil.
	Group *Group
	// Attempt is the number of this run of a queued job, from 1; 0 means the request did not come through the queue. A run
	// of a job has capacity already.
	Attempt int
}

// Parent returns the W3C header of the prediction's span, or of its client's where none is traced; "" means none.
func (r *Request) Parent() string {
	if r.Trace == nil {
		return r.TraceParent
	}
	parent, _ := r.Trace.Passed(r.Trace.Own())
	return parent
}

// SpanAttrs are attributes that a protocol adds to a prediction's span.
type SpanAttrs struct {
	Begin trace.Attrs
	// End returns the attributes of the end, or nil. output is JSON, or nil. It must not block, or keep its arguments.
	End func(status Status, output, metrics []byte) trace.Attrs
}

// Group is the predictions of one request. Together they take the capacity of one: the first is admitted, and the
// others follow. The zero value is ready to use.
type Group struct {
	Live int // how many are admitted and have not ended; guarded by the slot pool's lock
}

type DiskBody interface {
	// Unmap frees the file. unused means that no code refers to the body's bytes any more, so their addresses can be
	// reused.
	Unmap(unused bool)
}

// OtherInput reports whether two digests are known to be of different inputs.
func OtherInput(ours, other string) bool { return ours != "" && other != "" && ours != other }

// observed reports whether a client may ask for the prediction before its end, or EmitsItems is set. No client knows
// the id of a plain synchronous request before its answer, so such a prediction emits no events.
func (r *Request) observed() bool {
	return r.Mode != Sync || r.Idempotent || r.ID != "" || r.Webhook != "" || r.EmitsItems
}
