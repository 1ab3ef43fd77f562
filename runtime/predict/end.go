package predict

import "pinion/runtime/trace"

// Why a prediction failed or was refused.
const (
	ReasonModel       = "model"       // the model raised an exception
	ReasonInput       = "input"       // the model raised an exception that is the client's fault
	ReasonValidation  = "validation"  // refused: its input does not match the model's schema
	ReasonFiles       = "files"       // an input could not be fetched, or an output could not be uploaded
	ReasonCrash       = "crash"       // its worker exited, or sent an invalid answer
	ReasonTimeout     = "timeout"     // it exceeded its runtime or queue limit
	ReasonMemory      = "memory"      // the memory budget had no room
	ReasonCapacity    = "capacity"    // refused: every slot was busy and the queue was full
	ReasonUnavailable = "unavailable" // no worker: before setup, during shutdown, or defunct
)

// End is how an accepted prediction ended.
type End struct {
	Kind   Kind
	Mode   Mode
	Status Status // Succeeded, Failed or Canceled
	Reason string // of a failure
	Times
	// Metrics is a JSON object: predict_time and what the model recorded. The receiver must not keep it.
	Metrics []byte
	// Trace is the prediction's span; nil means it has none, or its trace is not sampled.
	Trace *trace.Context
}
