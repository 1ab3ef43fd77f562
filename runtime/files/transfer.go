package files

import (
	"context"
	"errors"
	"os"
)

// The direction and outcome of a transfer.
const (
	Download = "download"
	Upload   = "upload"

	Succeeded = "succeeded"
	Failed    = "failed"
	Canceled  = "canceled" // the prediction or the store ended
)

// transferred passes a transfer to Options.OnTransfer. size is the file's, if it succeeded.
func (s *Store) transferred(direction string, size int64, err error) {
	if s.options.OnTransfer == nil {
		return
	}
	switch {
	case err == nil:
		s.options.OnTransfer(direction, Succeeded, size)
	case errors.Is(err, context.Canceled), errors.Is(err, ErrClosed):
		s.options.OnTransfer(direction, Canceled, 0)
	default:
		s.options.OnTransfer(direction, Failed, 0)
	}
}

// sizeOf returns the size of a file, or 0.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
