package body

import (
	"pinion/runtime/memory"
	"pinion/runtime/predict"
)

// BrokenError means that the body did not arrive completely.
type BrokenError struct{ cause error }

func (e *BrokenError) Error() string { return "read the body: " + e.cause.Error() }

// Unwrap returns the connection's error.
func (e *BrokenError) Unwrap() error { return e.cause }

// Body is the bytes of a request, and the memory that they take. Who has it releases it, or hands it on.
type Body struct {
	Data []byte
	// Charged is how many bytes of the memory budget it takes.
	Charged int64
	// Disk is the file that holds Data; nil means memory holds it.
	Disk predict.DiskBody
	// Owned means that nothing else refers to Data, which may be reused when no prediction needs it.
	Owned bool
	// Shared is the memory that holds Data, if a worker can read it too; nil means it cannot.
	Shared *memory.Shared
	copies int64 // bytes of Charged that are for copies
	budget Budget
	inUse  bool
}

// Budget is what the memory of a body is charged to; nil means nothing.
type Budget interface{ Free(bytes int64) }

// New returns a body whose charge goes back to a budget.
func New(data []byte, charged int64, disk predict.DiskBody, from Budget) Body {
	return Body{Data: data, Charged: charged, Disk: disk, Owned: disk == nil, budget: from}
}

// Budget returns what Charged goes back to.
func (b *Body) Budget() Budget { return b.budget }

// KeepInUse notes that a worker may still be reading the body when it is released.
func (b *Body) KeepInUse() { b.inUse = true }

// Release frees a body that no call took over.
func (b *Body) Release() {
	if b.Disk != nil {
		b.Disk.Unmap(!b.inUse)
	}
	if b.Shared != nil {
		b.Shared.Free(!b.inUse)
	}
	if b.budget != nil && b.Charged > 0 {
		b.budget.Free(b.Charged)
	}
	*b = Body{}
}

// Room says where a body is read to.
type Room struct {
	Pool   *memory.SharedPool // used if it is not nil and has some
	Head   int                // what follows so many bytes is aligned there
	Copies int64              // how many copies of the body are charged with it
}
