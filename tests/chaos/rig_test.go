package chaos

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// A scene is a server and the faults that it suffers.
type scene struct {
	name, model    string
	slots, workers int
	streams        bool
	batch          int  // the largest batch; 0 means there are none
	around         bool // with preprocess and postprocess
	faults         int
}

// rig is a scene while it runs.
type rig struct {
	scene
	t       *testing.T
	s       *harness.Server
	seed    uint64
	folder  string // of the journal
	ownDisk bool
	clocked bool   // what the processes take for the time of day can be set
	limited bool   // the server has its own memory limit
	freezes bool   // processes can be frozen
	binary  string // that the server was started from
	hooks   *hooks
	journal *journal

	background sync.WaitGroup // faults that go on

	mu         sync.Mutex
	good       map[int]bool // workers that had a success, and were not harmed since
	halted     map[int]bool // workers that are stopped now
	observed   int          // answers
	done       map[string]bool
	hooked     map[string]bool // ids with a webhook: whether they were taken in
	unresolved []string        // ids of those whose clients left
	complaints []string
}

// width is how many clients send requests at once, and wide how many if they are to fill batches.
const width, wide = 8, 20

// inNamespace makes the server's TMPDIR a small file system that goes with its last process.
const inNamespace = `mount -t tmpfs -o size=12m none "$TMPDIR" && exec "$0" "$@"`

// memory is the limit of the server and its workers, if they can be given one: enough for all but a model that takes
// memory without end.
const memory = 768 << 20

// newRig starts the server.
func newRig(t *testing.T, sc scene, seed uint64) *rig {
	g := &rig{scene: sc, t: t, seed: seed, folder: t.TempDir(), good: map[int]bool{}, halted: map[int]bool{}}
	g.hooks = newHooks(t, seed, func(e entry) { g.note(e) })
	o := harness.Options{
		Model:   sc.file() + ":" + sc.model,
		Tmp:     harness.ShortTempDir(t),
		Garbles: true,
		Args: []string{
			"--workers", strconv.Itoa(sc.workers), "--queue", "64", "--queue-timeout", "10m",
			"--hang-timeout", "3s", "--predict-timeout", "10s", "--cancel-grace", "1s",
		},
	}
	o.StopsReading = true
	o.Binary = g.copyBinary()
	if g.freezes = harness.CanFreeze(); !g.freezes {
		t.Log("no process can be frozen: none outlives SIGKILL")
	}
	if sc.slots > 1 {
		o.Args = append(o.Args, "--concurrency", strconv.Itoa(sc.slots))
	}
	for _, flag := range []string{"-m", "-rm"} {
		if exec.Command("unshare", flag, "sh", "-c", "mount -t tmpfs none /tmp").Run() == nil {
			o.Wrap = []string{"unshare", flag, "sh", "-c", inNamespace}
			g.ownDisk = true
			break
		}
	}
	if !g.ownDisk {
		t.Log("no file system can be mounted here: the disk is never full")
	}
	// The kernel, in haste, may end another process beside the one that it should: with one worker, the front. And a
	// sanitizer needs more memory.
	if sc.workers > 1 && !harness.Sanitized(t) {
		g.limit(&o)
	}
	g.s = harness.Ready(t, o)
	g.clocked = g.clocks()
	assert.Eventually(t, "all workers are ready", func() bool { h, err := g.health(); return err == nil && g.rests(h) })
	return g
}

// file returns the file of the model.
func (sc scene) file() string {
	if sc.batch > 0 {
		return "batched.py"
	}
	return "chaos.py"
}

// clients returns how many ask at once.
func (sc scene) clients() int {
	if sc.batch > 0 {
		return wide
	}
	return width
}

// limit gives the server its own memory limit.
func (g *rig) limit(o *harness.Options) {
	if _, enter, ok := harness.MemoryGroup(g.t, memory); ok {
		o.Wrap, g.limited = append(o.Wrap, enter...), true
	} else {
		g.t.Log("no control group can be made: memory is never short")
	}
}

// tmp returns the server's TMPDIR as it sees it.
func (g *rig) tmp() string {
	if !g.ownDisk {
		return g.s.Tmp
	}
	return filepath.Join(fmt.Sprintf("/proc/%d/root", g.s.PID), g.s.Tmp)
}

// open begins a round's journal, and ledger.
func (g *rig) open(round int) {
	g.journal = newJournal(g.t, filepath.Join(g.folder, fmt.Sprintf("journal-%d.jsonl", round)))
	if err := os.Truncate(g.ledger(), 0); err != nil && !os.IsNotExist(err) {
		g.t.Fatal(err)
	}
	g.hooks.forget()
	g.done, g.hooked = map[string]bool{}, map[string]bool{}
}

func (g *rig) ledger() string { return filepath.Join(g.s.Dir, "ledger.txt") }

// pidOf finds the worker in an output.
var pidOf = regexp.MustCompile(`^\[?"[0-9a-f]{16} ([0-9]+) `)

// note writes an entry of what the server said, and learns from it.
func (g *rig) note(e entry) {
	g.journal.note(e)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.observed++
	g.done[e.ID] = true
	if _, ok := g.hooked[e.ID]; ok && (e.Code == http.StatusOK || e.Code == http.StatusAccepted) {
		g.hooked[e.ID] = true
	}
	if m := pidOf.FindStringSubmatch(cmp.Or(string(e.Output), e.Head)); m != nil && e.Status == "succeeded" {
		pid, _ := strconv.Atoi(m[1]) // digits
		g.good[pid] = true
	}
}

func (g *rig) answered(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.done[id]
}

// complain notes what must not be; it may be called on any goroutine.
func (g *rig) complain(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.complaints = append(g.complaints, fmt.Sprintf(format, args...))
}

// harm notes that a worker is about to be harmed from outside.
func (g *rig) harm(pid int, how string) {
	g.journal.note(entry{What: "harm", PID: pid, How: how})
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.good, pid)
}

// more waits until the clients got n more answers.
func (g *rig) more(n int) {
	count := func() int { g.mu.Lock(); defer g.mu.Unlock(); return g.observed }
	target := count() + n
	if until(func() bool { return count() >= target }) != nil {
		g.complain("no request is answered any more")
	}
}

func (g *rig) health() (h harness.Health, err error) {
	a := g.s.Do(http.MethodGet, "/health-check", nil)
	if a.Err != nil {
		return h, a.Err
	}
	return h, json.Unmarshal(a.Body, &h)
}

// has reports whether a process serves.
func (g *rig) has(pid int) bool {
	h, err := g.health()
	if err != nil {
		return true
	}
	for _, w := range h.Workers {
		if w.PID == pid {
			return true
		}
	}
	return false
}

// proven returns the workers that serve, where each of them has had a success since it was born or harmed: five deaths
// without one would end the server, as they should.
func (g *rig) proven() (pids []int) {
	h, err := g.health()
	if err != nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range h.Workers {
		if w.State != "ready" {
			continue
		}
		if !g.good[w.PID] {
			return nil
		}
		pids = append(pids, w.PID)
	}
	return pids
}
