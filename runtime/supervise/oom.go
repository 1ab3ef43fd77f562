package supervise

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Shortage says whether the kernel ended a process for lack of memory.
type Shortage uint8

const (
	ShortageUnknown Shortage = iota // the kernel does not say
	ShortageNo                      // it has ended none recently
	ShortageYes                     // it has
)

// oomWatch finds by the kernel's counter whether it ended processes of this control group recently. The counter is the
// group's, so a kill is attributed to the worker that died by SIGKILL within some seconds of it.
type oomWatch struct {
	group        memoryGroup
	limit        int64
	known        bool
	older, newer uint64 // the counter at the check before the last, and at the last
}

func newOOMWatch(g memoryGroup) *oomWatch {
	w := &oomWatch{group: g, limit: g.limit()}
	w.older, w.known = g.kills()
	w.newer = w.older
	return w
}

// check is called every few seconds.
func (w *oomWatch) check() {
	if n, ok := w.group.kills(); ok {
		w.older, w.newer = w.newer, n
	}
}

// killed is called right after a process has died by SIGKILL.
func (w *oomWatch) killed() Shortage {
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

// oomScoreAdjust is by how much a worker's oom_score_adj exceeds the front's, in thousandths of the memory. Browsers
// use the same for their pages.
const oomScoreAdjust, oomScoreMost = 300, 1000

// preferForOOM makes the kernel end a worker before the front when memory is short: without the front, all workers end.
// What the worker starts inherits it. score is the worker's; 0 means any that is high enough. If it fails, the kernel
// picks the largest process.
func preferForOOM(pid, score int) bool {
	if score == 0 {
		own := scoreOf("self")
		if own == unknownScore {
			return false
		}
		score = min(own+oomScoreAdjust, oomScoreMost)
	}
	return setScore(pid, score)
}

// setScore sets the oom_score_adj of a process. Raising it needs no rights; it fails if the process has ended or /proc
// is read-only.
func setScore(pid, score int) bool {
	return os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(strconv.Itoa(score)), 0) == nil
}

const unknownScore = -1 << 31

// scoreOf reads the oom_score_adj of a process.
func scoreOf(process string) int {
	text, err := os.ReadFile("/proc/" + process + "/oom_score_adj")
	if err != nil {
		return unknownScore
	}
	score, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return unknownScore
	}
	return score
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.3g GiB", float64(n)/(1<<30))
	default:
		return fmt.Sprintf("%.3g MiB", float64(n)/(1<<20))
	}
}
