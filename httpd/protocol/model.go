package protocol

import (
	"sync"
	"time"
	"unsafe"

	"pinion/httpd/body"
	"pinion/httpd/place"
	"pinion/runtime/health"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// FirstVersion is the version of a model that has one.
const FirstVersion = "1"

// Service is what a Model needs of the server behind it.
type Service interface {
	place.Assigner
	// SubmitAll enters predictions in the queue together. The caller then calls Prediction.Run for each.
	SubmitAll(ps []*predict.Prediction)
	// OpenAPI returns the model's schema document, as far as it is known without loading the model, or false if it is
	// not.
	OpenAPI() ([]byte, bool)
	// LoadOpenAPI is OpenAPI for a prediction: it loads the model, if requests load it. false means setup has not
	// ended.
	LoadOpenAPI() ([]byte, bool)
	// NewAttachments returns an empty store for files of a request. The caller closes it, unless a call took it over.
	NewAttachments() request.Attachments
	// Ready returns why no prediction is accepted; nil means that predictions are accepted.
	Ready() error
	// State returns the state of the model.
	State() State
	// Load and Unload return when the model is loaded, or its processes are gone. The error is ErrNoControl, a
	// *predict.NotReadyError, or why its setup failed.
	Load() error
	Unload() error
}

// State is the state of a model, and why it is not ready.
type State struct {
	Name   string // one of those below
	Reason string // why it is not ready
}

// The names of a model's states.
const (
	StateReady       = string(health.Ready)
	StateLoading     = "LOADING"
	StateUnloading   = "UNLOADING"
	StateUnavailable = "UNAVAILABLE"
)

// Models are the models of a server.
type Models interface {
	// Find returns the model of that name and version ("" means any). The error is an *Error of kind Unknown that names
	// the known models.
	Find(name, version string) (*Model, *Error)
	// List returns all models; the default one comes first.
	List() []*Model
}

// Model is one model of a server.
type Model struct {
	Name    string
	Version string // the version that answers, or would answer
	Summary string // what cog.yaml says about it in a line; "" means nothing
	Service
	// Readme returns the README of the model's folder as it is now, "" without one; nil means that its folder is
	// elsewhere.
	Readme func() string
	// ResultTTL is how long clients may ask for its ended predictions.
	ResultTTL time.Duration
	// Versions returns the versions among which Choose chooses one for each call, or nil if the model is its only
	// version.
	Versions func() []*Model
	Choose   func() *Model

	mu        sync.Mutex
	document  []byte // of signature
	signature *Signature
}

// NewModel returns the model behind s.
func NewModel(name string, s Service) *Model {
	return &Model{Name: name, Version: FirstVersion, Service: s}
}

// Chosen returns the version of the model that a call is for.
func (m *Model) Chosen() *Model {
	if m.Choose == nil {
		return m
	}
	return m.Choose()
}

// All returns the versions of the model.
func (m *Model) All() []*Model {
	if m.Versions == nil {
		return []*Model{m}
	}
	return m.Versions()
}

// Call is one request: the inputs of its predictions, and the form of the outputs.
type Call struct {
	// Inputs are JSON objects, strictly valid (package rawjson), one for each prediction; at least one.
	Inputs [][]byte
	// Rows means that errors name their row, even if there is only one.
	Rows bool
	// Body is the memory that Inputs are in; the zero Body means none. The call takes it over.
	Body Body
	// Copied is how many bytes of Inputs are copies that were charged to Body before they were made.
	Copied int64
	// Attachments are files for which Inputs have placeholders (predict.AppendPlaceholder), or nil. The call takes them
	// over.
	Attachments request.Attachments
	// Tensors are arrays for which Inputs have placeholders (predict.AppendTensor), or nil. They may lie in Body.
	Tensors []predict.Tensor
	// Inlet has the items of the streamed input, which is not in the only input; nil means that Inputs have all.
	Inlet *predict.Inlet
	// Stream means that Run.Follow is called rather than Run.Wait. The model need not have @cog.streaming. Rows run one
	// after another.
	Stream bool
	// Form are the fields that a form adds to the only input.
	Form []predict.FormField
	// UnknownKeys are the unknown keys outside the inputs, or nil.
	UnknownKeys *predict.UnknownKeys
	// WantFile means that an output that is one file is in Answer.File, and not a data URL.
	WantFile bool
	// WantTensors means that arrays of the output are in Answer.Tensors, with placeholders in Answer.Output. Streams do
	// not have them.
	WantTensors bool
	// ID is that of the only prediction if a client may ask for it after its end: it is retained.
	ID string
	// Meta is what the request's headers say; Exchange.Predict and Exchange.Begin read it. They keep a RequestID that is
	// set.
	request.Meta
	// Context is a JSON object of strings that the model gets as its context, or nil.
	Context []byte
	// Span adds to the span of each prediction; nil means nothing.
	Span *predict.SpanAttrs
}

// Body is the bytes of a request, and the memory that they take.
type Body = body.Body

// copied returns how many bytes of the inputs are not charged yet: copies on the heap of parts of a body that lies on
// disk, which the memory budget does not count.
func (c *Call) copied() (bytes int64) {
	if c.Body.Disk == nil {
		return 0
	}
	var before []byte
	for _, input := range c.Inputs {
		if !begins(input, before) && !inside(input, c.Body.Data) { // equal inputs may share their bytes
			bytes += int64(len(input))
		}
		before = input
	}
	return max(0, bytes-c.Copied)
}

// begins reports whether two slices begin at the same byte.
func begins(a, b []byte) bool { return unsafe.SliceData(a) == unsafe.SliceData(b) }

// inside reports whether part begins within whole.
func inside(part, whole []byte) bool {
	at, from := uintptr(unsafe.Pointer(unsafe.SliceData(part))), uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
	return at >= from && at < from+uintptr(len(whole))
}

// MaxRows is how many predictions a call may have: each takes memory before it runs.
const MaxRows = 16384

const (
	// rowBytes is about how much memory a prediction takes beside its input and output.
	rowBytes = 2 << 10
	// fewRows is how many rows are free of that charge, so that small requests do not touch the memory budget.
	fewRows = 32
)

// RowsCost returns about how many bytes n predictions take. Charge it before Begin.
func RowsCost(n int) int64 {
	if n <= fewRows {
		return 0
	}
	return int64(n) * rowBytes
}

// CheckRows refuses more than MaxRows rows. Call it before memory is taken for each row.
func CheckRows(n int) *Error {
	if n > MaxRows {
		return Errorf(BadInput, "the request has %d rows; send at most %d", n, MaxRows)
	}
	return nil
}
