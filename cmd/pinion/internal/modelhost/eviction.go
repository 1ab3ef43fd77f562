package modelhost

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Holder is a model that has memory.
type Holder struct {
	Name   string
	Memory int64
	Idle   bool      // nothing of it runs or waits, so it may be unloaded
	Kept   bool      // else: nothing does, but its turn goes on
	Ends   bool      // else: it may once it has ended what it runs, and its turn
	Used   time.Time // when it was last used
}

// NoRoomError says why a model does not fit beside those that are loaded.
type NoRoomError struct {
	Name    string
	Need    int64
	Bound   int64
	Holders []Holder // those that hold memory and cannot be evicted; empty means that the model is too large by itself
}

func (e *NoRoomError) Error() string {
	text := fmt.Sprintf("%s needs %s of the %s that the models may have together", e.Name, size(e.Need), size(e.Bound))
	var held []string
	for _, h := range e.Holders {
		held = append(held, fmt.Sprintf("%s has %s", h.Name, size(h.Memory)))
	}
	if len(held) == 0 {
		return text
	}
	return text + ", and " + strings.Join(held, ", ") + " and cannot be unloaded now"
}

// chooseEvicted chooses the models to evict so that a model that needs memory fits into the bound (0 means there is
// none): idle ones, the least recently used first, and no more than necessary. If that is not possible, the error is a
// *NoRoomError, and no model is evicted.
func chooseEvicted(name string, need, bound int64, holders []Holder) (evicted []string, err error) {
	if bound == 0 {
		return nil, nil
	}
	free := bound
	var idle, busy []Holder
	for _, h := range holders {
		if h.Name == name {
			continue
		}
		free -= h.Memory
		if h.Idle {
			idle = append(idle, h)
		} else {
			busy = append(busy, h)
		}
	}
	slices.SortStableFunc(idle, func(a, b Holder) int { return a.Used.Compare(b.Used) })
	evicted, ok := fewest(idle, need-free)
	if !ok {
		return nil, &NoRoomError{name, need, bound, busy}
	}
	return evicted, nil
}

// fewest chooses, from the first on, models that together have memory, and leaves out those that are not needed for
// that; false means that all of them have less.
func fewest(models []Holder, memory int64) (names []string, ok bool) {
	n := 0
	for ; n < len(models) && memory > 0; n++ {
		memory -= models[n].Memory
	}
	if memory > 0 {
		return nil, false
	}
	for _, h := range models[:n] {
		if memory+h.Memory <= 0 {
			memory += h.Memory // a small one does not matter beside those behind it
			continue
		}
		names = append(names, h.Name)
	}
	return names, true
}

// size formats a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	default:
		return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20)
	}
}
