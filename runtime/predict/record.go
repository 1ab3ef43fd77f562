package predict

import "time"

// Record is the public state of a prediction at one moment. Its slices are shared: do not write to them. The prediction
// only appends to them, so a copy of a Record stays valid.
type Record struct {
	ID   string
	Kind Kind
	// Input is the JSON object that the client sent, with secrets redacted; nil if it is not shown.
	Input       []byte
	Created     time.Time
	CreatedText string // Created as the client wrote it; "" if it did not
	Version     string // of the model that runs it; "" means not known, or it has none
	Members     []byte // Request.Members
	Progress
}

// Progress is the part of a Record that changes while the prediction runs.
type Progress struct {
	Status Status
	// Open means that Output is a list in progress, which lacks its closing bracket.
	Open bool
	// OverBudget means that it failed because the memory budget had no room for what it yielded.
	OverBudget bool
	Reason     string // why it failed, as metrics count it
	Output     []byte // JSON; nil if there is none yet
	// Tensors are arrays for which Output has placeholders, or nil. Only a prediction that ended, with
	// Request.WantTensors, has some.
	Tensors       []Tensor
	Error         string
	Fault         *ClientFault // of an Error that is the client's fault, or nil
	Logs          []byte       // as written by the model; may contain invalid UTF-8
	Metrics       []byte       // a JSON object; nil until it has ended
	live          liveMetrics  // recorded so far, while the prediction runs
	Started       time.Time    // zero while not started
	Completed     time.Time    // zero while not ended
	QueuePosition int          // from 1; 0 means not queued, or not known
	Times         Times        // of a prediction that has ended
}

// OverBudgetStatus is the error's status in the object of a prediction that failed with OverBudget: 503, as another try
// may find memory.
const OverBudgetStatus = 503

// ClientFault is what a model says of an error that is the client's fault.
type ClientFault struct {
	Status int    // for a client that waits: 400 to 499
	Code   string // for programs; "" means there is none
	// BadInput means that the input has no value of the declared type: other protocols have their own status for that.
	BadInput bool
}

// Result is how a prediction ended.
type Result struct {
	Status Status // Succeeded, Failed or Canceled
	Output []byte
	// Tensors are arrays for which Output has placeholders (AppendTensor), or nil; only if Request.WantTensors.
	Tensors []Tensor
	// Yielded means that the output is the list of the yielded items (Prediction.Output); the field Output is ignored.
	Yielded bool
	// OverBudget means that it failed because the memory budget had no room for what it yielded.
	OverBudget bool
	Reason     string // why it failed: ReasonModel, ReasonCrash …
	Error      string
	Fault      *ClientFault // nil means Error is not the client's fault
	Version    string       // of the model that ran it, if it was not known before
	Metrics    []byte
	Logs       []byte // text that is not in the record yet
	// Elapsed is how long the model ran. If Begin was not called, Record.Started is derived from it.
	Elapsed time.Duration
	Times   Times
}
