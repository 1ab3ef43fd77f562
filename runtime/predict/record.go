package predict

import "time"

// Record is the public state of a prediction at one moment. Its slices are shared and not to be written;
// what grows is only ever appended to, so that keeping a Record keeps the state of its moment.
type Record struct {
	ID     string
	Kind   Kind
	Status Status
	// Input is the JSON object that the client sent, secrets hidden; nil where it is not to be shown.
	Input  []byte
	Output []byte // JSON; nil while there is none
	// Open: Output is a list in progress, which lacks its closing bracket.
	Open        bool
	Error       string
	Logs        []byte // as written by the model; may hold invalid UTF-8
	Metrics     []byte // a JSON object; nil until it has ended
	live        live   // what it has recorded so far, while it runs
	Created     time.Time
	CreatedText string    // Created as the client wrote it; "" where it did not
	Started     time.Time // zero while not started
	Completed   time.Time // zero while not ended
	Place       int       // in the line of those that wait, from 1; 0: it does not wait, or that is not known
	Version     string    // the model's; "" where it is not known
}

// Result is how a prediction ended.
type Result struct {
	Status Status // Succeeded, Failed or Canceled
	Output []byte
	// Yielded: the output is the list of what was yielded (Prediction.Output); Output is not looked at.
	Yielded bool
	Error   string
	Metrics []byte
	Logs    []byte // what is not in the record yet
	// Elapsed is how long the model had it; it dates Started where Begin was not called.
	Elapsed time.Duration
}

// maxLogs is how much of its logs a record keeps, in bytes. The server's own log has the rest.
const maxLogs = 16 << 20
