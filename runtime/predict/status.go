package predict

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

// moves is the one table of legal moves: moves[from] has a bit for each legal target.
var moves = [statuses]uint32{
	Starting:   1<<Processing | 1<<Succeeded | 1<<Failed | 1<<Canceled,
	Processing: 1<<Succeeded | 1<<Failed | 1<<Canceled,
}

var names = [statuses]string{"starting", "processing", "succeeded", "failed", "canceled"}

// canMove reports whether the table allows a move from s.
func (s Status) canMove(to Status) bool {
	return s < statuses && to < statuses && moves[s]&(1<<to) != 0
}

// move changes s to another status if the table allows it, and reports whether it did.
func (s *Status) move(to Status) bool {
	if !s.canMove(to) {
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
