package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"pinion/tests/harness"
)

// round causes the faults of a plan under load, and then runs the checker.
func (g *rig) round(number int, plan []fault) {
	g.t.Helper()
	g.open(number)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for client := range g.clients() {
		clients.Go(func() { g.client(number, client, stop) })
	}
	r := source(g.seed, number)
	for n, f := range plan {
		if until(func() bool { return len(g.proven()) > 0 }) != nil {
			h, _ := g.health()
			g.complain("before fault %d (%s): no worker serves: %+v", n, f.name, h)
			break
		}
		g.more(r.IntN(8))
		f.strike(g, r, fmt.Sprintf("r%d-f%d", number, n))
	}
	if g.clocked {
		g.jump(0)
	}
	g.more(2 * g.clients())
	close(stop)
	clients.Wait()
	g.background.Wait()
	g.settle()
	g.check(number)
}

// lookBackAfter is how many requests later a client looks at one that it left: long before the server forgets it.
const lookBackAfter = 20

// client sends requests again and again.
func (g *rig) client(round, client int, stop <-chan struct{}) {
	var left []string // by request; "" means it was not left
	for n := 0; ; n++ {
		select {
		case <-stop:
			for _, id := range left {
				if id != "" {
					g.lookBack(id)
				}
			}
			return
		default:
		}
		q := g.newRequest(round, client, n)
		g.perform(q, client%4 == 0)
		if q.leave == 0 {
			q.id = ""
		}
		left = append(left, q.id)
		if len(left) > lookBackAfter {
			if left[0] != "" {
				g.lookBack(left[0])
			}
			left = left[1:]
		}
	}
}

// settle waits until the server is idle, and reads the predictions whose end is unknown.
func (g *rig) settle() {
	g.t.Helper()
	var h harness.Health
	if until(func() bool { h, _ = g.health(); return g.rests(h) }) != nil {
		g.complain("the server does not come to rest: %+v", h)
	}
	for _, id := range g.unresolved {
		g.await(id)
	}
	g.unresolved = nil
	for id, taken := range g.hooked {
		if taken {
			g.hooks.wait(id)
		}
	}
}

// rests reports whether the server is idle.
func (g *rig) rests(h harness.Health) bool {
	for _, w := range h.Workers {
		if w.State != "ready" || w.Successor != "" || w.Busy > 0 {
			return false
		}
	}
	return len(h.Workers) == g.workers && h.Queue.Length == 0
}

// check runs the checker.
func (g *rig) check(round int) {
	g.t.Helper()
	g.journal.close(g.t)
	// A cancel that comes between the making of a coroutine and its first step leaves a warning in other logs.
	unsent := 0
	if g.around {
		unsent = g.batch // of ended batches, while their items are finished one by one
	}
	command := exec.Command(checker, "-slots", strconv.Itoa(g.slots), "-batch", strconv.Itoa(g.batch),
		"-unsent", strconv.Itoa(unsent), "-swallowed", strconv.Itoa(g.batch), "-foreign-coroutines", "6", g.journal.name,
		g.ledger())
	out, err := command.CombinedOutput()
	if err != nil || testing.Verbose() {
		g.t.Logf("round %d of %s, seed %d:\n%s", round, g.name, g.seed, out)
	}
	if err != nil {
		g.t.Errorf("round %d of %s, seed %d: the checker: got %v, want no error", round, g.name, g.seed, err)
	}
	for _, complaint := range g.complaints {
		g.t.Errorf("round %d of %s, seed %d: %s", round, g.name, g.seed, complaint)
	}
	if err != nil || len(g.complaints) > 0 {
		g.keep(round)
	}
	g.complaints = nil
	_ = os.Remove(g.journal.name) // the test's folder goes in any case
}

// keep copies the checker's input to the folder of PINION_CHAOS_KEEP.
func (g *rig) keep(round int) {
	folder := os.Getenv("PINION_CHAOS_KEEP")
	if folder == "" {
		return
	}
	for _, name := range []string{g.journal.name, g.ledger()} {
		if text, err := os.ReadFile(name); err == nil {
			_ = os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s-%d-%s", g.name, round, filepath.Base(name))), text, 0o600)
		}
	}
	_ = os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s-%d-log", g.name, round)), []byte(g.s.Log.String()), 0o600)
}
