package predict

import (
	"errors"
	"sync"

	"pinion/runtime/memory"
)

// Bounds of the items of a streamed input that wait: those that the model has not taken. The worker reports half as many
// at the latest (pyembed/serving_items.c).
const (
	maxWaitingItems = 64
	maxWaitingBytes = 1 << 20
)

// ErrInletClosed means that the prediction of a streamed input has ended, or the input has.
var ErrInletClosed = errors.New("the prediction of this streamed input has ended")

// Item is one item of a streamed input.
type Item struct {
	Value  []byte // JSON, or bytes; the inlet owns it
	Binary bool
	// Tensors are arrays for which Value has placeholders, and Attachments the files, until it is prepared. Nil means
	// that there are none.
	Tensors     []Tensor
	Attachments Attachments
}

// ItemSender sends to the model that has a prediction. No method blocks.
type ItemSender interface {
	Item(item Item)
	// End sends the end. reason, if it is not "", is why the input is broken.
	End(reason string)
	// Flush makes the model see what was sent.
	Flush()
}

// Inlet is the streamed input of a prediction while its items come. One goroutine gives it the items; it waits while
// the model has not taken enough of them. The zero value is ready.
type Inlet struct {
	// Name is the input that the items are for; "" means the model's streamed input. Set before the prediction is made.
	Name string
	// Memory is charged for large items that wait; nil means no bound. Set before the prediction is made.
	Memory *memory.Budget
	// Prepare checks and prepares the item of that index. The service sets it.
	Prepare func(index int, item Item) (Item, error)
	// YieldsBytes means that each item of the model's output is bytes, in base64. The service sets it.
	YieldsBytes bool

	mu      sync.Mutex
	to      ItemSender    // nil until the model has the prediction
	early   []Item        // that came before
	sizes   []int         // of those that wait
	bytes   int           // of these
	given   int           // items that Put was given
	ended   bool          // End was called
	broken  string        // why, or ""
	closed  bool          // the prediction has ended
	changed chan struct{} // a token: there may be room; nil until somebody waits
}

// Begin sends the items to the model, which has the prediction from now on.
func (in *Inlet) Begin(to ItemSender) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed || in.to != nil {
		return
	}
	in.to = to
	for _, item := range in.early {
		to.Item(item)
	}
	in.early = nil
	if in.ended {
		to.End(in.broken)
	}
	to.Flush()
}

// Put gives the model an item. It waits while too many wait; stop, if it is closed, ends that. The error is
// ErrInletClosed, that of Prepare, or memory.ErrFull.
func (in *Inlet) Put(item Item, stop <-chan struct{}) error {
	if in.Prepare != nil {
		var err error
		if item, err = in.Prepare(in.given, item); err != nil {
			return err
		}
	}
	in.given++
	size := len(item.Value)
	if size >= memory.MinCharge && !in.Memory.Take(int64(size), int64(size)) {
		return memory.ErrFull
	}
	if err := in.put(item, stop); err != nil {
		in.free(size)
		return err
	}
	return nil
}

func (in *Inlet) put(item Item, stop <-chan struct{}) error {
	for {
		in.mu.Lock()
		switch {
		case in.closed || in.ended:
			in.mu.Unlock()
			return ErrInletClosed
		case len(in.sizes) < maxWaitingItems && in.bytes < maxWaitingBytes:
			in.sizes = append(in.sizes, len(item.Value))
			in.bytes += len(item.Value)
			if in.to == nil {
				in.early = append(in.early, item)
			} else {
				in.to.Item(item)
			}
			in.mu.Unlock()
			return nil
		}
		if in.to != nil {
			in.to.Flush()
		}
		if in.changed == nil {
			in.changed = make(chan struct{}, 1)
		}
		changed := in.changed
		in.mu.Unlock()
		select {
		case <-changed:
		case <-stop:
			return ErrInletClosed
		}
	}
}

// Flush makes the model see what was put. It is called when no further item is there at once.
func (in *Inlet) Flush() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.to != nil {
		in.to.Flush()
	}
}

// End ends the input. reason, if it is not "", is the error that the model gets in place of the end. Only the first call
// has an effect.
func (in *Inlet) End(reason string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended || in.closed {
		return
	}
	in.ended, in.broken = true, reason
	if in.to != nil {
		in.to.End(reason)
		in.to.Flush()
	}
}

// Took notes that the model has taken so many more items.
func (in *Inlet) Took(items uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := min(items, uint64(len(in.sizes)))
	for _, size := range in.sizes[:n] {
		in.bytes -= size
		in.free(size)
	}
	in.sizes = append(in.sizes[:0], in.sizes[n:]...)
	in.wake()
}

// free ends the charge of an item.
func (in *Inlet) free(size int) {
	if size >= memory.MinCharge {
		in.Memory.Free(int64(size))
	}
}

// wake wakes a Put that waits. Called with the lock held.
func (in *Inlet) wake() {
	if in.changed != nil {
		select {
		case in.changed <- struct{}{}:
		default:
		}
	}
}

// close ends the inlet with its prediction.
func (in *Inlet) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed, in.to, in.early = true, nil, nil
	for _, size := range in.sizes {
		in.free(size)
	}
	in.sizes, in.bytes = nil, 0
	in.wake()
}

// ItemReason returns the text of an error of Put, for Inlet.End.
func ItemReason(err error) string {
	var invalid *ValidationError
	switch {
	case errors.As(err, &invalid) && len(invalid.Problems) > 0:
		problem := &invalid.Problems[0]
		return problem.Loc[len(problem.Loc)-1] + ": " + problem.Msg
	case errors.Is(err, memory.ErrFull):
		return "the server has no memory for an item of the streamed input"
	}
	return err.Error()
}
