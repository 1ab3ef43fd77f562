package chaos

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pinion/tests/harness"
)

// fault is something that goes wrong.
type fault struct {
	name   string
	weight int // how often, beside the others
	strike func(g *rig, r *rand.Rand, id string)
}

// faults returns the faults that can be caused here.
func (g *rig) faults() []fault {
	list := []fault{
		{"kill from outside", 16, func(g *rig, r *rand.Rand, _ string) { g.signal(r, syscall.SIGKILL) }},
		{"segmentation fault from outside", 8, func(g *rig, r *rand.Rand, _ string) { g.signal(r, syscall.SIGSEGV) }},
		{"stop", 1, (*rig).stop},
		{"pause", 8, (*rig).pauseWorker},
		{"front paused", 4, (*rig).pauseFront},
		{"reload", 6, (*rig).reload},
		{"stuck webhooks", 3, (*rig).stickHooks},
		{"log reader stops", 3, (*rig).stopReading},
		{"binary replaced", 1, (*rig).replaceBinary},
	}
	if g.clocked {
		list = append(list, fault{"clock", 6, (*rig).setClock})
	}
	if g.ownDisk {
		list = append(list, fault{"full disk", 4, (*rig).fillDisk})
	}
	if g.limited {
		list = append(list, fault{"exhaust", 3, func(g *rig, r *rand.Rand, id string) { g.commit(r, id, "exhaust") }})
	}
	if g.freezes {
		list = append(list, fault{"freeze", harness.Soak(1, 1), (*rig).freeze})
	}
	if g.batch == 0 { // a batch with a missing file would raise, though no item was to
		list = append(list, fault{"run folder removed", 3, (*rig).removeRunFolder})
	}
	if g.slots > 1 { // of one slot a loop that is blocked is a slow prediction
		list = append(list, fault{"block", 2, func(g *rig, r *rand.Rand, id string) { g.commit(r, id, "block") }})
	}
	for how, weight := range map[string]int{
		"segv": 6, "leave": 8, "abort": 4, "kill": 8, "close_all": 2, "close_sockets": 4, "shut_sockets": 4,
		"rubbish": 8, "forged": 4, "oversized": 4,
		"cut_off": harness.Soak(1, 0), // only a time limit ends it
	} {
		if weight > 0 {
			list = append(list, fault{how, weight, func(g *rig, r *rand.Rand, id string) { g.commit(r, id, how) }})
		}
	}
	return sorted(list)
}

// signal hits one of the workers that have shown that they work.
func (g *rig) signal(r *rand.Rand, how syscall.Signal) {
	if pid := g.victim(r); pid != 0 {
		g.harm(pid, how.String())
		_ = syscall.Kill(pid, how) // it may have ended meanwhile
	}
}

// stop stops a worker for good: the server must replace it.
func (g *rig) stop(r *rand.Rand, _ string) {
	pid := g.halt(r)
	if pid == 0 {
		return
	}
	g.background.Go(func() {
		if until(func() bool { return !g.has(pid) }) != nil {
			g.complain("worker %d is stopped, and not replaced", pid)
		}
		g.resume(pid)
	})
}

// pauseWorker stops a worker for a moment.
func (g *rig) pauseWorker(r *rand.Rand, _ string) {
	pid := g.halt(r)
	if pid == 0 {
		return
	}
	length := time.Duration(r.IntN(200)) * time.Millisecond
	g.background.Go(func() {
		time.Sleep(length) // this is the fault
		_ = syscall.Kill(pid, syscall.SIGCONT)
		g.resume(pid)
	})
}

// halt stops a worker, and returns it, or 0. A worker that is stopped already is left alone: late answers make it look
// sound, and if it were stopped for good, the end of a pause would resume it.
func (g *rig) halt(r *rand.Rand) int {
	pid := g.victim(r)
	if pid == 0 {
		return 0
	}
	g.mu.Lock()
	halted := g.halted[pid]
	g.halted[pid] = true
	g.mu.Unlock()
	if halted {
		return 0
	}
	g.harm(pid, "stopped")
	if syscall.Kill(pid, syscall.SIGSTOP) != nil {
		g.resume(pid)
		return 0
	}
	return pid
}

// resume notes that a stopped process goes on, or has been replaced.
func (g *rig) resume(pid int) {
	g.journal.note(entry{What: "mended", PID: pid})
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.halted, pid)
}

// pauseFront stops the front for a moment.
func (g *rig) pauseFront(r *rand.Rand, _ string) {
	g.s.Signal(syscall.SIGSTOP)
	time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond) // this is the fault
	g.s.Signal(syscall.SIGCONT)
}

func (g *rig) reload(*rand.Rand, string) { g.s.Signal(syscall.SIGHUP) }

// fillDisk leaves no room where the server keeps files, for a while.
func (g *rig) fillDisk(r *rand.Rand, _ string) {
	g.journal.note(entry{What: "full"})
	name := filepath.Join(g.tmp(), "filler")
	block := bytes.Repeat([]byte{1}, 4096)
	file, err := os.Create(name)
	for err == nil {
		_, err = file.Write(block) // until there is no room
	}
	g.more(10 + r.IntN(20))
	file.Close()
	if err := os.Remove(name); err != nil {
		g.complain("%v", err)
	}
	g.journal.note(entry{What: "empty"})
}

// stickHooks lets webhooks wait for a while.
func (g *rig) stickHooks(r *rand.Rand, _ string) {
	g.hooks.stick()
	g.more(10 + r.IntN(20))
	g.hooks.loose()
}

// commit makes the model cause a fault.
func (g *rig) commit(r *rand.Rand, id, how string) {
	q := request{id: id, token: fmt.Sprintf("%016x", r.Uint64()), mode: "sync", do: how, salt: r.Uint32(), items: -1}
	if g.streams {
		q.items = r.IntN(3)
	}
	g.background.Go(func() { g.perform(q, false) })
	_ = until(func() bool { return g.answered(id) })
}

// victim returns a worker that has shown that it works, or 0.
func (g *rig) victim(r *rand.Rand) int {
	pids := g.proven()
	if len(pids) == 0 {
		return 0
	}
	pid := pids[r.IntN(len(pids))]
	// It may have ended since the server reported it, and its process ID may have been reused.
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(stat), ") ")
	if f := strings.Fields(after); err != nil || len(f) < 2 || f[1] != fmt.Sprint(g.s.PID) {
		return 0
	}
	return pid
}

// planned draws faults: each of them once where there is room, and then by their weights.
func planned(r *rand.Rand, n int, faults []fault) []fault {
	var weighed []fault
	for _, f := range faults {
		for range f.weight {
			weighed = append(weighed, f)
		}
	}
	plan := slices.Clone(faults)
	for len(plan) < n {
		plan = append(plan, weighed[r.IntN(len(weighed))])
	}
	r.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
	return plan[:n]
}

func sorted(list []fault) []fault {
	slices.SortFunc(list, func(a, b fault) int { return cmp.Compare(a.name, b.name) })
	return list
}
