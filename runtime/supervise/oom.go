package supervise

import "fmt"

// Shortage is whether a process was ended for want of memory.
type Shortage uint8

const (
	ShortageUnknown Shortage = iota // the kernel does not say
	ShortageNo                      // it has ended none lately
	ShortageYes                     // it has
)

// oomWatch tells by the kernel's counter whether it ended processes of this control group lately. The
// counter is the group's, so a kill is believed to be of the worker that died by SIGKILL within some
// seconds of it.
type oomWatch struct {
	group        memoryGroup
	limit        int64
	known        bool
	older, newer uint64 // the counter at the pulse before the last, and at the last
}

func newOOMWatch(g memoryGroup) *oomWatch {
	w := &oomWatch{group: g, limit: g.limit()}
	w.older, w.known = g.kills()
	w.newer = w.older
	return w
}

// pulse is called every few seconds.
func (w *oomWatch) pulse() {
	if n, ok := w.group.kills(); ok {
		w.older, w.newer = w.newer, n
	}
}

// verdict is asked right after a process has died by SIGKILL.
func (w *oomWatch) verdict() Shortage {
	n, ok := w.group.kills()
	switch {
	case !ok || !w.known:
		return ShortageUnknown
	case n > w.older:
		return ShortageYes
	default:
		return ShortageNo
	}
}

// bytesText is a size for people.
func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.3g GiB", float64(n)/(1<<30))
	default:
		return fmt.Sprintf("%.3g MiB", float64(n)/(1<<20))
	}
}
