package ventu

import "errors"

var (
	// ErrFull refuses a job because as many wait as may.
	ErrFull = errors.New("the queue is full")
	// ErrClosed refuses a job because the queue was closed.
	ErrClosed = errors.New("the server is shutting down")
	// ErrNoWorker says that no worker is connected.
	ErrNoWorker = errors.New("no worker is connected")

	// Why a connection ends.
	errDisconnected = errors.New("the worker closed its connection")
	errInit         = errors.New("the worker did not begin with four zero bytes")
	errUnasked      = errors.New("the worker sent what it was not asked for")
	errMalformed    = errors.New("the worker's answer is malformed")
)
