package predict

import "pinion/runtime/moves"

// Status is the state of a prediction. The zero value is Starting.
type Status uint32

const (
	Starting   Status = iota // accepted; no worker has begun it
	Processing               // the model runs it, or its files are being fetched
	Succeeded                // ended: Output holds what the model returned
	Failed                   // ended: Error says why
	Canceled                 // ended: its client canceled it or disconnected
	statuses
)

// statusMoves is the table of legal moves.
var statusMoves = moves.Table[Status]{
	Starting:   1<<Processing | 1<<Succeeded | 1<<Failed | 1<<Canceled,
	Processing: 1<<Succeeded | 1<<Failed | 1<<Canceled,
}

var names = [statuses]string{"starting", "processing", "succeeded", "failed", "canceled"}

// move changes s to another status if the table allows it, and reports whether it did.
func (s *Status) move(to Status) bool {
	if !statusMoves.Allows(*s, to) {
		return false
	}
	*s = to
	return true
}

func (s Status) Terminal() bool { return s == Succeeded || s == Failed || s == Canceled }

// String returns the status as the HTTP contract writes it.
func (s Status) String() string {
	if s < statuses {
		return names[s]
	}
	return "unknown"
}
