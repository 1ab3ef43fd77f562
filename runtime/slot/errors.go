package slot

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrCanceled means that the call was canceled before the model saw it.
	ErrCanceled = errors.New("canceled before it was started")
	// ErrNotRunning means that no worker has the call.
	ErrNotRunning = errors.New("it does not run: it waits for a slot or for its files, or has ended")
	// ErrWorkerExit marks a WorkerExitError.
	ErrWorkerExit = errors.New("worker lost")
)

// WorkerExitError ends a call whose worker died while it had the call.
type WorkerExitError struct {
	// Cause says in words why the worker died.
	Cause string
}

func (e *WorkerExitError) Error() string { return e.Cause }

// Unwrap makes errors.Is(err, ErrWorkerExit) true.
func (e *WorkerExitError) Unwrap() error { return ErrWorkerExit }

// TimeoutError ends a call that the model had for longer than Options.PredictTimeout.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("Prediction timed out: it ran for longer than %s", e.After)
}
