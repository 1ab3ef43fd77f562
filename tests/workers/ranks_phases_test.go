package workers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// holdingModel stays in a phase of its life while a file of that name is in its folder.
const holdingModel = `
import atexit
from collections.abc import Iterator

def hold(phase):
    if os.path.exists(phase):
        print(f"{phase} of {RANK}", flush=True)
        while os.path.exists(phase):
            time.sleep(0.005)

hold("start")
atexit.register(hold, "stop")

class Runner(cog.BaseRunner):
    def setup(self):
        hold("setup")
        self.group = Group()

    def run(self, steps: int = 3, apart: int = -1) -> Iterator[int]:
        try:
            for i in range(steps):
                if RANK == apart:
                    hold("collective")
                total = self.group.sum(i)
                hold("step")
                yield total
        finally:
            hold("cancel")
`

// phases is a server whose ranks stay in a phase, once Hold was called.
type phases struct {
	*harness.Server
	held map[string]int // how often each phase of a rank was waited for
}

func startPhases(t *testing.T) *phases {
	t.Helper()
	head, _, _ := strings.Cut(ranksModel, "class Runner")
	s := ranksOf(t, 3, head+holdingModel, harness.Options{Args: []string{"--queue", "4", "--hang-timeout", "1s"}})
	return &phases{s, map[string]int{}}
}

func (p *phases) hold(t *testing.T, phase string) {
	harness.WriteFile(t, filepath.Join(p.Dir, phase), "")
}

func (p *phases) release(t *testing.T, phase string) {
	assert.NoError(t, os.Remove(filepath.Join(p.Dir, phase)))
}

// wait waits until ranks are in a phase once more.
func (p *phases) wait(t *testing.T, phase string, ranks ...int) {
	t.Helper()
	for _, rank := range ranks {
		text := fmt.Sprintf("%s of %d", phase, rank)
		p.held[text]++
		assert.Eventually(t, text, func() bool { return p.Log.Count(text) >= p.held[text] })
	}
}

// logged returns how many lines of the log have a text in any field.
func (p *phases) logged(text string) (n int) {
	for _, line := range p.Log.Lines() {
		if strings.Contains(line.Raw, text) {
			n++
		}
	}
	return n
}

// signal sends a rank a signal that ends its service.
func (p *phases) signal(t *testing.T, rank int, sig syscall.Signal) (pids []int) {
	t.Helper()
	pids = rankPIDs(p.Server)
	assert.EqualNow(t, "ranks", len(pids), 3)
	harness.SendSignal(t, pids[rank], sig)
	return pids
}

// wantNext waits for another group, which answers.
func (p *phases) wantNext(t *testing.T, before []int, want string) {
	t.Helper()
	assert.Eventually(t, "another group is ready", func() bool {
		h := p.Health()
		now := h.Workers[0].Ranks
		return h.Status == "READY" && len(now) == 3 && now[0].PID != before[0] && now[1].PID != before[1] && now[2].PID != before[2]
	})
	assert.Contains(t, "last exit", p.Health().Workers[0].LastExit, want)
	var sums []int
	p.Succeed(harness.Input{}).Decode(t, &sums)
	assert.EqualSlices(t, "sums", sums, []int{0, 3, 6})
}

// rankEnds are the ways in which a rank stops to serve, with the words of health and of its prediction.
var rankEnds = map[string]struct {
	signal syscall.Signal
	words  string
}{
	"killed":  {syscall.SIGKILL, "rank %d died: worker killed (SIGKILL)"},
	"stopped": {syscall.SIGSTOP, "rank %d: it has not answered on its control channel"},
}

// TestRanks_EndAtEachPhase: each rank is killed and stopped while the group starts, is set up, is in a collective, between
// two steps, and in the clean-up after a cancel. The group is replaced, and the next one answers.
func TestRanks_EndAtEachPhase(t *testing.T) {
	t.Parallel()
	all := []int{0, 1, 2}
	for name, end := range rankEnds {
		for _, phase := range []string{"start", "setup", "collective", "step", "cancel"} {
			t.Run(name+" in "+phase, func(t *testing.T) {
				t.Parallel()
				p := startPhases(t)
				for rank := range all {
					want := fmt.Sprintf(end.words, rank)
					id := fmt.Sprint("p", rank)
					var answer <-chan harness.Answer
					switch phase {
					case "start", "setup":
						p.hold(t, phase)
						before := p.signal(t, rank, syscall.SIGKILL)
						p.wait(t, phase, all...)
						waits := p.Begin(id, harness.Input{})
						assert.True(t, rankPIDs(p.Server)[0] != before[0], "the old group is still there")
						before = p.signal(t, rank, end.signal)
						if end.signal == syscall.SIGSTOP {
							assert.Eventually(t, want, func() bool { return p.logged(want) > 0 })
						}
						p.release(t, phase)
						p.wantNext(t, before, want)
						harness.WantStatus(t, "what waited", harness.Receive(t, waits), "succeeded")
						continue
					case "collective":
						p.hold(t, phase)
						apart := (rank + 1) % 3
						answer = p.Begin(id, harness.Input{"apart": apart})
						p.wait(t, phase, apart)
					case "step":
						p.hold(t, phase)
						answer = p.Begin(id, harness.Input{})
						p.wait(t, phase, all...)
					case "cancel":
						answer = p.Begin(id, harness.Input{"steps": 1_000_000})
						harness.WaitStatus(t, p.Server, id, "processing")
						p.hold(t, phase)
						p.Cancel(id)
						p.wait(t, phase, all...)
					}
					before := p.signal(t, rank, end.signal)
					a := harness.Receive(t, answer)
					if phase == "cancel" {
						harness.WantStatus(t, id, a, "canceled")
					} else {
						harness.WantStatus(t, id, a, "failed")
						assert.Contains(t, "error", a.Error, want)
					}
					if end.signal == syscall.SIGSTOP && phase == "collective" {
						assert.True(t, p.logged("what the ranks do") > rank && p.logged("in take") > rank, "the log has no stacks")
					}
					p.release(t, phase)
					p.wantNext(t, before, want)
				}
			})
		}
	}
}

// TestRanks_EndInTheStop: a rank is killed or stopped while the group leaves with the server.
func TestRanks_EndInTheStop(t *testing.T) {
	t.Parallel()
	for name, end := range rankEnds {
		for rank := range 3 {
			t.Run(fmt.Sprint(name, " ", rank), func(t *testing.T) {
				t.Parallel()
				p := startPhases(t)
				p.Succeed(harness.Input{})
				pids := rankPIDs(p.Server)
				p.hold(t, "stop")
				p.Signal(syscall.SIGTERM)
				p.wait(t, "stop", 0, 1, 2)
				harness.SendSignal(t, pids[rank], end.signal)
				p.release(t, "stop")
				p.Ended(0)
			})
		}
	}
}
