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

// batchesOf returns how the functions of a model are batched, or nil if none is. A slot has room for the largest batch.
func batchesOf(l *ipc.Loaded, v batch.Override) (all *slot.BatchOptions, err error) {
	functions := map[string]*batch.Options{}
	add := func(name string, b *ipc.Batching) {
		if b == nil || err != nil {
			return
		}
		var o *slot.BatchOptions
		if o, err = batchOptions(b, v); err != nil {
			return
		}
		if functions[name] = &o.Options; all == nil {
			copied := *o // its options may become those of a larger one
			all = &copied
			return
		}
		if all.Isolate = all.Isolate && o.Isolate; o.MaxSize > all.MaxSize {
			all.Options = o.Options
		}
	}
	add("", l.Batch)
	for name, f := range l.Functions {
		add(name, f.Batch)
	}
	if all != nil && len(l.Functions) > 0 {
		all.Functions = functions
	}
	return all, err
}
