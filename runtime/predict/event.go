package predict

// EventKind says what happened.
type EventKind uint8

const (
	EventStart  EventKind = iota // the model has it now
	EventOutput                  // it yielded an item, or returned its output
	EventLog                     // it wrote
	EventMetric                  // it recorded a metric
	EventEnd                     // it has ended; the record is final. Always the last
)

// Event is one thing that happened to a prediction. Data is shared and not to be written.
type Event struct {
	Kind   EventKind
	Index  uint64 // EventOutput: counts from 0
	Source string // EventLog: "stdout" or "stderr"
	// Data is the item's JSON (EventOutput), the text (EventLog; may hold invalid UTF-8), or
	// {"name":…,"value":…,"mode":…} (EventMetric).
	Data []byte
}

// Observer is told of each event of a prediction, in order, with the record as of the event. It is called
// with the prediction's lock held: it must not block, nor call the prediction.
type Observer interface {
	Observe(rec Record, e Event)
}
