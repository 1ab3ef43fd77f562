package slot

import "errors"

var (
	// ErrCanceled: the call was cancelled before the model saw it.
	ErrCanceled = errors.New("canceled before it was started")
	// ErrWorker marks a LostError.
	ErrWorker = errors.New("worker lost")
)

// LostError ends a call whose worker died while it had it. Its fate is the worker's: the slot is
// lost with it.
type LostError struct {
	// Cause says in words what became of the worker.
	Cause string
}

func (e *LostError) Error() string { return e.Cause }

// Unwrap makes errors.Is(err, ErrWorker) true.
func (e *LostError) Unwrap() error { return ErrWorker }
