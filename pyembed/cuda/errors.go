package cuda

import "errors"

var (
	// ErrStarted: Start was called before in this process.
	ErrStarted = errors.New("the CUDA driver was already started in this process")
	// ErrOptions: an option is out of bounds.
	ErrOptions = errors.New("invalid options for the CUDA driver")
)
