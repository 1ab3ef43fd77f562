package supervise

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A worker that is a fork of a process that has run the setup shares the weights with it. Its own memory is its private
// pages; what the model has together is the sum of the shares: a page that n processes have counts 1/n for each.

// shareInterval is how often the kernel is asked at most: it visits all pages.
const shareInterval = 10 * time.Second

// sharedMemory is the memory of such a process.
type sharedMemory struct {
	mu         sync.Mutex
	read       time.Time
	own, share int64
}

// of returns the private pages of the process and its share, in bytes; 0 means unknown.
func (m *sharedMemory) of(pid int) (own, share int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.read.IsZero() || time.Since(m.read) >= shareInterval {
		m.own, m.share = readShare(pid)
		m.read = time.Now()
	}
	return m.own, m.share
}

// readShare reads proc_pid_smaps_rollup(5).
func readShare(pid int) (own, share int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)) // fails if it has ended
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(fields[1], 10, 64) // the first line is no number
		switch fields[0] {
		case "Private_Clean:", "Private_Dirty:", "Private_Hugetlb:":
			own += kib << 10
		case "Pss:":
			share = kib << 10
		}
	}
	return own, share
}

// memory returns the process's own memory and its share of all that it has, in bytes. Both are the resident memory,
// unless it shares the memory of a setup.
func (p *process) memory() (own, share int64) {
	if p.from == nil || !p.from.task.spec.PreloadSetup {
		has := resident(p.child.pid)
		return has, has
	}
	return p.shared.of(p.child.pid)
}

// MemoryShare returns the share of the worker's memory, in bytes; 0 if it has no process.
func (s *Supervisor) MemoryShare() int64 {
	s.mu.Lock()
	w := s.current
	if w == nil || w.status.PID == 0 {
		s.mu.Unlock()
		return 0
	}
	forked := w.process.from != nil && w.process.from.task.spec.PreloadSetup
	s.mu.Unlock()
	if !forked {
		return s.Health().MemoryBytes
	}
	_, share := w.process.memory()
	return share
}

// MemoryShare returns the share of the preload process's memory, in bytes, if it has run the setup; else 0.
func (p *Preloader) MemoryShare() int64 {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	m := p.current
	p.mu.Unlock()
	if m == nil || !m.task.spec.PreloadSetup {
		return 0
	}
	_, share := m.shared.of(m.child.pid)
	return share
}
