//go:build !cgo

package cuda

import (
	"context"
	"fmt"
	"unsafe"
)

// Start says that it can't, unless it is not to.
func Start(o Options) error {
	if o.Disabled {
		return nil
	}
	return fmt.Errorf("start CUDA driver: %w", ErrNoCgo)
}

// StartFunc has nothing to start.
func StartFunc(Options) (start, options unsafe.Pointer) { return nil, nil }

// Wait returns at once: nothing was started.
func Wait(context.Context) (Report, error) { return Snapshot() }

// Snapshot is the report of a driver that was not started.
func Snapshot() (Report, error) { return Report{State: Off, Devices: []Device{}}, nil }

// ReportFunc is nil: there is no C.
func ReportFunc() unsafe.Pointer { return nil }
