package supervise

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

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

// expendableBy is by how many thousandths of the memory there is a worker seems larger than it is, where the kernel looks
// for a process to end. Browsers give the same to their pages.
const expendableBy, mostExpendable = 300, 1000

// expendable has the kernel end a worker before the front where memory is short: with a worker goes what it runs, with the
// front go all. What the worker starts inherits it. Where it cannot be had the kernel takes the largest, as ever.
func expendable(pid int) {
	text, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return
	}
	own, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return
	}
	adjusted := strconv.Itoa(min(own+expendableBy, mostExpendable))
	// Raising it needs no rights; fails where the process has ended, or /proc is not to be written.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(adjusted), 0)
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
