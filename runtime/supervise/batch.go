package supervise

import (
	"fmt"
	"time"

	"pinion/ipc"
	"pinion/runtime/batch"
	"pinion/runtime/slot"
)

// batchOptions returns the model's batching options after the operator's overrides.
func batchOptions(b *ipc.Batching, v batch.Override) (*slot.BatchOptions, error) {
	o := batch.Options{MaxSize: b.MaxSize}
	if b.MaxWaitMS != nil {
		o.MaxWait = batch.AtMost(time.Duration(*b.MaxWaitMS * float64(time.Millisecond)))
	}
	o = o.With(v)
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("the model's batches: %w", err)
	}
	return &slot.BatchOptions{Options: o, Prepare: b.Prepare, Isolate: b.Isolate}, nil
}
