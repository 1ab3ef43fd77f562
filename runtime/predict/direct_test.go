package predict

import (
	"slices"
	"testing"

	"pinion/tests/assert"
)

// TestDirect_TakesInPlaceOfTheSubscriber: outputs that are flushed are taken by the goroutine that yields them, each
// once and in order; what is not taken, and events that no Flush follows, wake the subscriber.
func TestDirect_TakesInPlaceOfTheSubscriber(t *testing.T) {
	p := observed(Options{})
	s := assert.Must(p.Subscribe())(t)
	var taken []string
	able := true
	s.Direct(takerFunc(func() bool {
		if !able {
			return false
		}
		events, err := s.Take(room())
		for _, e := range events {
			taken = append(taken, string(e.Data))
		}
		return err == nil
	}))
	wakes := func() int { return len(s.wake) }
	empty, err := s.Take(room())
	assert.TrueNow(t, err == nil && len(empty) == 0, "before the first output: %d events, %v", len(empty), err)

	for _, item := range []string{"1", "2"} {
		_, fits := p.Yield([]byte(item))
		assert.True(t, fits, "%s does not fit", item)
	}
	assert.Equal(t, "taken before Flush", len(taken), 0)
	p.Flush()
	p.Flush()
	assert.True(t, slices.Equal(taken, []string{"1", "2"}), "taken: %q, want 1 and 2", taken)
	assert.Equal(t, "wakes", wakes(), 0)

	p.Log("stdout", []byte("text"))
	assert.Equal(t, "wakes after a log", wakes(), 1)
	<-s.wake
	p.Output([]byte("3"))
	assert.Equal(t, "taken while it was woken already", len(taken), 2)
	events, _ := s.Take(room())
	assert.Equal(t, "left to the subscriber", len(events), 2)

	events, _ = s.Take(room())
	assert.Equal(t, "nothing is left", len(events), 0)
	able = false
	p.Output([]byte("4"))
	assert.Equal(t, "wakes where it could not be taken", wakes(), 1)
	events, _ = s.Take(room())
	assert.True(t, len(events) == 1 && string(events[0].Data) == "4", "got %v, want 4", events)
}

type takerFunc func() bool

func (t takerFunc) TakeDirectly() bool { return t() }

func room() []Event { return make([]Event, 0, 4) }
