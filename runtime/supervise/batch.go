package supervise

import (
	"fmt"
	"time"

	"pinion/runtime/batch"
	"pinion/runtime/slot"
)

// Batching is what a worker says of a model whose predictions ride together.
type Batching struct {
	MaxSize   int      `json:"max_size"`
	MaxWaitMS *float64 `json:"max_wait_ms"` // nil: adaptive
	Isolate   bool     `json:"isolate"`
	Keys      []string `json:"keys"`    // the inputs in which all of a batch are equal
	Prepare   bool     `json:"prepare"` // it has a preprocess
}

// with is how the model's predictions ride, where an operator has that to say.
func (b *Batching) with(v batch.Override) (*slot.Batch, error) {
	o := batch.Options{MaxSize: b.MaxSize}
	if b.MaxWaitMS != nil {
		o.MaxWait = batch.AtMost(time.Duration(*b.MaxWaitMS * float64(time.Millisecond)))
	}
	o = o.With(v)
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("the model's batches: %w", err)
	}
	return &slot.Batch{Options: o, Prepare: b.Prepare, Isolate: b.Isolate}, nil
}
