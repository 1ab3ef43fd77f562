package predict

import (
	"errors"
	"testing"

	"pinion/runtime/memory"
	"pinion/tests/assert"
)

// taker is a model that notes what it gets.
type taker struct {
	items []Item
	ended []string
}

func (m *taker) Item(item Item)    { m.items = append(m.items, item) }
func (m *taker) End(reason string) { m.ended = append(m.ended, reason) }
func (m *taker) Flush()            {}

// put gives an inlet items of a size until one has to wait, and returns how many it took.
func put(t *testing.T, in *Inlet, size, most int) (taken int) {
	t.Helper()
	stop := make(chan struct{})
	close(stop) // a Put that would wait returns
	for ; taken < most; taken++ {
		if err := in.Put(Item{Value: make([]byte, size)}, stop); err != nil {
			assert.True(t, errors.Is(err, ErrInletClosed), "got %v", err)
			break
		}
	}
	return taken
}

// TestInlet_Bounds: so many items wait, before and after the model has the prediction, and large ones are charged.
func TestInlet_Bounds(t *testing.T) {
	t.Parallel()
	budget := memory.New(16 << 20)
	in, model := &Inlet{Memory: budget}, &taker{}
	assert.Equal(t, "small items", put(t, in, 1, 100), maxWaitingItems)
	assert.Equal(t, "sent before the model has it", len(model.items), 0)
	in.Begin(model)
	assert.Equal(t, "sent", len(model.items), maxWaitingItems)
	assert.Equal(t, "before the model has taken any", put(t, in, 1, 100), 0)
	in.Took(10)
	assert.Equal(t, "after it has taken 10", put(t, in, 1, 100), 10)
	in.Took(1000)
	const large = 300 << 10
	assert.Equal(t, "large items", put(t, in, large, 100), 4) // the fourth begins below 1 MiB
	assert.Equal(t, "charged", budget.Stats().Used, int64(4*large))
	in.Took(1)
	assert.Equal(t, "charged after one", budget.Stats().Used, int64(3*large))
	in.close()
	assert.Equal(t, "charged at the end", budget.Stats().Used, int64(0))
	assert.Equal(t, "after the end", put(t, in, 1, 100), 0)
}

// TestInlet_End: the model gets the end behind all items, once.
func TestInlet_End(t *testing.T) {
	t.Parallel()
	early, late := &Inlet{}, &Inlet{}
	model := &taker{}
	put(t, early, 1, 2)
	early.End("broken")
	early.End("")
	early.Begin(model)
	assert.Equal(t, "items", len(model.items), 2)
	assert.Equal(t, "reasons", len(model.ended), 1)
	assert.Equal(t, "reason", model.ended[0], "broken")
	late.Begin(model)
	late.End("")
	assert.Equal(t, "reason", model.ended[1], "")
	assert.Equal(t, "after the end", put(t, late, 1, 1), 0)
}

// TestInlet_Wakes: a Put that waits goes on when the model has taken items, and ends with the prediction.
func TestInlet_Wakes(t *testing.T) {
	t.Parallel()
	in, model := &Inlet{}, &taker{}
	in.Begin(model)
	put(t, in, 1, maxWaitingItems)
	for _, free := range []func(){func() { in.Took(1) }, in.close} {
		done := make(chan error)
		go func() { done <- in.Put(Item{}, nil) }()
		assert.Eventually(t, "Put waits", func() bool {
			in.mu.Lock()
			defer in.mu.Unlock()
			return in.changed != nil
		})
		free()
		<-done
	}
}
