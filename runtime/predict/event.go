package predict

// EventKind says what happened.
type EventKind uint8

const (
	EventStart  EventKind = iota // the prediction began
	EventOutput                  // the model yielded an item, or returned its output
	EventLog                     // the model wrote to a stream
	EventMetric                  // the model recorded a metric
	EventEnd                     // the prediction ended; the record is final. Always the last event
)

// Event is one step of a prediction. Data is shared: do not write to it.
type Event struct {
	Kind   EventKind
	Index  uint64 // EventOutput: counts from 0
	Source string // EventLog: "stdout" or "stderr"
	// Data is the item's JSON (EventOutput), the text (EventLog; may contain invalid UTF-8), or
	// {"name":…,"value":…,"mode":…} (EventMetric).
	Data []byte
}

// Observer receives each event of a prediction in order, with the record at that moment. It is called with the
// prediction's lock held: it must not block or call the prediction.
type Observer interface {
	Observe(rec Record, e Event)
}
