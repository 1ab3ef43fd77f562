package cuda

import "errors"

var (
	// ErrStarted means that Start was called before in this process.
	ErrStarted = errors.New("the CUDA driver was already started in this process")
	// ErrOptions means that an option is out of bounds.
	ErrOptions = errors.New("invalid options for the CUDA driver")
)
