package supervise

import "fmt"

// memoryWatch checks the memory of one process.
type memoryWatch struct {
	oom      *oomWatch
	looks    int
	exceeded bool // the process had more than its limit
}

// oomLooks is the least number of checks for which an out-of-memory kill is remembered.
const oomLooks = 5

// resident is the worker's own memory, in bytes; of a group, that of all ranks.
func (w *worker) resident() int64 {
	has, _ := w.process.memory()
	if w.group != nil {
		for _, r := range w.group.others {
			has += resident(r.process.child.pid)
		}
	}
	return has
}

// checkMemory renews a worker that has more memory than its limit.
func (w *worker) checkMemory() {
	m := &w.memory
	if m.looks++; m.looks%oomLooks == 0 {
		m.oom.check()
	}
	limit := w.sup.o.Policy.MaxMemory
	if limit <= 0 || w.setup.stage != Ready || m.exceeded {
		return
	}
	if has := w.resident(); has > limit {
		m.exceeded = true
		w.sup.Renew(fmt.Sprintf("it has %s of memory, more than %s", bytesText(has), bytesText(limit)))
	}
}
