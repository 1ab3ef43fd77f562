package predict

// Status is where a prediction stands. The zero value is Starting.
type Status uint32

const (
	Starting   Status = iota // accepted; no worker has begun it
	Processing               // the model has it
	Succeeded                // ended: Output holds what the model returned
	Failed                   // ended: Error says why
	Canceled                 // ended: by its client, or because it left
	statuses
)

// moves is the one table of legal moves: moves[from] has a bit for each legal target.
var moves = [statuses]uint32{
	Starting:   1<<Processing | 1<<Succeeded | 1<<Failed | 1<<Canceled,
	Processing: 1<<Starting | 1<<Succeeded | 1<<Failed | 1<<Canceled,
}

// names are the words of the HTTP contract.
var names = [statuses]string{"starting", "processing", "succeeded", "failed", "canceled"}

// CanMove tells whether a prediction may go from s to t. Processing may fall back to Starting
// only because a dead worker is found never to have begun what its socket held.
func (s Status) CanMove(t Status) bool {
	return s < statuses && t < statuses && moves[s]&(1<<t) != 0
}

// Terminal tells whether s is an end.
func (s Status) Terminal() bool { return s == Succeeded || s == Failed || s == Canceled }

// String is the status as the HTTP contract writes it.
func (s Status) String() string {
	if s < statuses {
		return names[s]
	}
	return "unknown"
}
