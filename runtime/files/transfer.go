package files

import (
	"context"
	"errors"
	"os"
)

// Which way a transfer went, and how it ended.
const (
	Download = "download"
	Upload   = "upload"

	Succeeded = "succeeded"
	Failed    = "failed"
	Canceled  = "canceled" // by its prediction's end, or the store's
)

// transferred tells Options.OnTransfer of one file; size is what it has, where it is there.
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

// sizeOf is the size of a file that was just written, or 0.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
