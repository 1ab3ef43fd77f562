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
	Ends   bool      // else: it may once it has ended what it runs
	Used   time.Time // when it was last used
}

// NoRoomError says why a model does not fit beside those that are loaded.
type NoRoomError struct {
	Name    string
	Need    int64
	Bound   int64
	Holders []Holder // those that hold memory and cannot go; none: it is too large by itself
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
	return text + ", and " + strings.Join(held, ", ") + " and cannot go now"
}

// chooseEvicted chooses the models that must go before one that needs memory fits into the bound (0: there is none):
// those that are idle, the least recently used first, and no more than it takes. The error is a *NoRoomError: none of
// them goes.
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
	for _, h := range idle {
		if need <= free {
			break
		}
		free += h.Memory
		evicted = append(evicted, h.Name)
	}
	if need > free {
		return nil, &NoRoomError{name, need, bound, busy}
	}
	return evicted, nil
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	default:
		return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20)
	}
}
