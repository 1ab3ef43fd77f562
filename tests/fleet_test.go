package tests

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pinion/tests/harness"
)

// told is what the model of fleet.py says of its process.
type told struct{ pid, generation, gpus string }

func tell(t testing.TB, a harness.Answer) told {
	t.Helper()
	f := strings.Fields(a.Text(t))
	if len(f) != 3 {
		t.Fatalf("the model says %s", a)
	}
	return told{f[0], f[1], f[2]}
}

// fleet serves fleet.py.
func fleet(t testing.TB, o harness.Options) *harness.Server {
	t.Helper()
	o.Model = "fleet.py"
	return harness.Ready(t, o)
}

// allReady waits until that many workers are ready, and each was replaced so often in all, with nobody in the wings.
func allReady(t testing.TB, s *harness.Server, workers, restarts int) harness.Health {
	t.Helper()
	var h harness.Health
	harness.Eventually(t, fmt.Sprintf("%d workers are ready after %d restarts", workers, restarts), func() bool {
		h = s.Health()
		ready, restarted := 0, 0
		for _, w := range h.Workers {
			if w.State == "ready" && w.Successor == "" {
				ready++
			}
			restarted += w.Restarts
		}
		return ready == workers && restarted == restarts
	})
	return h
}

// crowd are clients that ask again and again, and count what they are answered.
type crowd struct {
	stop    chan struct{}
	done    sync.WaitGroup
	mu      sync.Mutex
	answers []harness.Answer // that were no success
	good    int
}

// flock has n clients ask, each when it was answered; input makes the input of a client's n-th request.
func flock(s *harness.Server, n int, input func(client, n int) any) *crowd {
	c := &crowd{stop: make(chan struct{})}
	for client := range n {
		c.done.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-c.stop:
					return
				default:
				}
				a := s.Input(input(client, i))
				c.mu.Lock()
				if a.Err == nil && a.Code == http.StatusOK && a.Status == "succeeded" {
					c.good++
				} else {
					c.answers = append(c.answers, a)
				}
				c.mu.Unlock()
			}
		})
	}
	return c
}

func (c *crowd) answered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.good
}

// more waits until the clients got so many more good answers.
func (c *crowd) more(t testing.TB, n int) {
	t.Helper()
	until := c.answered() + n
	harness.Eventually(t, "the clients are answered", func() bool { return c.answered() >= until })
}

// leave ends the clients, and returns what they were answered that was no success.
func (c *crowd) leave() []harness.Answer {
	close(c.stop)
	c.done.Wait()
	return c.answers
}

func plain(int, int) any { return input{} }

func TestGPUsAreSharedOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args, env []string
		devices   []string
	}{
		{[]string{"--gpus", "0;1;2,3"}, nil, []string{"0", "1", "2,3"}},
		{[]string{"--gpus", "each"}, []string{"CUDA_VISIBLE_DEVICES=3,GPU-12ab34cd"}, []string{"3", "GPU-12ab34cd"}},
		{[]string{"--workers", "auto"}, []string{"CUDA_VISIBLE_DEVICES=5,6", "PINION_GPUS=each"}, []string{"5", "6"}},
		{[]string{"--gpus", "MIG-12ab;MIG-34cd"}, []string{"CUDA_VISIBLE_DEVICES=0"}, []string{"MIG-12ab", "MIG-34cd"}},
	} {
		s := fleet(t, harness.Options{Args: append(c.args, "--queue", "100"), Env: c.env})
		h := allReady(t, s, len(c.devices), 0)
		var devices []string
		for _, w := range h.Workers {
			devices = append(devices, w.Device)
		}
		if !slices.Equal(devices, c.devices) {
			t.Errorf("%q: health tells of %q, want %q", c.args, devices, c.devices)
		}
		seen := map[string]string{}
		harness.Eventually(t, "every worker has answered", func() bool {
			crowd := flock(s, 2*len(devices), plain)
			crowd.more(t, len(devices))
			crowd.leave()
			got := tell(t, s.Succeed(input{}))
			seen[got.pid] = got.gpus
			return len(seen) == len(devices)
		})
		for _, w := range h.Workers {
			if got := seen[strconv.Itoa(w.PID)]; got != w.Device {
				t.Errorf("%q: the worker with %q sees %q", c.args, w.Device, got)
			}
		}
	}
	code, text := harness.Refused(t, harness.Options{Model: "fleet.py", Args: []string{"--gpus", "each", "--workers", "3"}, Env: []string{"CUDA_VISIBLE_DEVICES=0,1"}})
	if code != 2 || !strings.Contains(text, "3 workers want a GPU each, and 2 are visible") {
		t.Errorf("exit code %d, %q", code, text)
	}
}

func TestHealthTellsOfEachWorker(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--queue", "7"}})
	for range 3 {
		s.Succeed(input{})
	}
	w := s.Health().Workers[0]
	if w.Busy != 0 || w.BusySince != "" || w.Served != 3 || w.MemoryBytes < 1<<20 || w.State != "ready" || w.LastExit != "" {
		t.Errorf("idle: %+v", w)
	}
	open := makeFIFO(t, s.Dir, "gate")
	before := time.Now().Add(-time.Millisecond)
	running := s.Begin("running", input{"gate": "gate", "token": "running"})
	s.WaitLog("waiting running")
	var waiting []*harness.Visit
	for _, name := range numbered("waiting", 4) {
		waiting = append(waiting, s.Visit(name, input{}))
	}
	h := s.Health()
	w = h.Workers[0]
	since, err := time.Parse(time.RFC3339, w.BusySince)
	if err != nil || since.Before(before) || since.After(time.Now()) || w.Busy < 1 || w.Served != 3 {
		t.Errorf("busy: %+v", w)
	}
	if h.Queue == nil || h.Queue.Capacity != 7 || h.Queue.Length+w.Busy != 5 {
		t.Errorf("the queue is %+v, the worker has %d", h.Queue, w.Busy)
	}
	open()
	if a := harness.Receive(t, running); a.Status != "succeeded" {
		t.Errorf("got %s", a)
	}
	for _, v := range waiting {
		harness.Receive(t, v.Answer)
	}
}

func TestPredictTimeout(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := fleet(t, harness.Options{Python: python.Path, Args: []string{"--predict-timeout", "200ms", "--cancel-grace", "300ms", "--queue", "4"}})
		a := s.Fail(input{"do": "sleep"})
		wantText(t, "error", a.Error, "Prediction timed out: it ran for longer than 200ms")
		if took, _ := a.Metrics["predict_time"].(float64); took < 0.2 {
			t.Errorf("it took %v", a.Metrics)
		}
		worker := tell(t, s.Succeed(input{})).pid
		a = s.Fail(input{"do": "swallow"}) // the worker has to go
		wantText(t, "error", a.Error, "Prediction timed out: it ran for longer than 200ms")
		if after := tell(t, s.Succeed(input{})).pid; after == worker {
			t.Error("the worker that does not end is still there")
		}
	})
}

func TestAStoppedWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--hang-timeout", "400ms", "--queue", "4"}})
	first := tell(t, s.Succeed(input{})).pid
	if err := syscall.Kill(s.Worker(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if second := tell(t, s.Succeed(input{})).pid; second == first {
		t.Error("the stopped worker answers")
	}
	w := s.WaitHealth("READY").Workers[0]
	wantText(t, "last exit", w.LastExit, "killed by the server", "it has not answered on its control channel for 400ms")
	// A model that is deep in C code, and holds Python's lock, is none that hangs.
	deep := fleet(t, harness.Options{Args: []string{"--hang-timeout", "100ms"}})
	worker := deep.Worker()
	deep.Succeed(input{"do": "compute"})
	if deep.Worker() != worker {
		t.Error("it was replaced")
	}
}

func TestAStoppedServerReplacesNobody(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--hang-timeout", "100ms"}})
	worker := s.Worker()
	s.Signal(syscall.SIGSTOP)
	time.Sleep(500 * time.Millisecond) // longer than a worker may be silent; a stopped server has no state to wait for
	s.Signal(syscall.SIGCONT)
	for range 5 {
		s.Succeed(input{})
	}
	if s.Worker() != worker {
		t.Error("the worker was replaced")
	}
}

func TestWorkersAreRecycledUnderLoad(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--max-requests", "200", "--queue", "32", "--workers", "2"}})
	clients := flock(s, 8, plain)
	harness.Eventually(t, "workers were replaced five times", func() bool {
		n := 0
		for _, w := range s.Health().Workers {
			n += w.Restarts
		}
		return n >= 5
	})
	for _, a := range clients.leave() {
		t.Errorf("one was lost: %s", a)
	}
	if _, found := s.Log.First(func(l harness.Line) bool { return strings.Contains(l.Raw, "it has answered 200 predictions") }); !found {
		t.Error("the log does not say why")
	}
}

func TestAWorkerWithTooMuchMemoryIsReplaced(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--max-rss", "150MiB", "--queue", "4"}})
	first := tell(t, s.Succeed(input{})).pid
	s.Succeed(input{"do": "grow"})
	h := allReady(t, s, 1, 1)
	if second := tell(t, s.Succeed(input{})).pid; second == first || h.Workers[0].MemoryBytes > 150<<20 {
		t.Errorf("worker %s was followed by %s, which has %d bytes", first, second, h.Workers[0].MemoryBytes)
	}
}

// edit makes the model that of a generation. Each has another length: Python takes its bytecode for good where a
// file's length and its time, in seconds, are as they were.
func edit(t testing.TB, s *harness.Server, generation int) {
	t.Helper()
	file := filepath.Join(s.Dir, "fleet.py")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	from, to := fmt.Sprintf("GENERATION = %d ", generation-1), fmt.Sprintf("GENERATION = %d  #", generation)
	changed := strings.Replace(string(text), from, to, 1)
	if changed == string(text) {
		t.Fatalf("the model has no %q", from)
	}
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--queue", "32", "--workers", "2"}})
	allReady(t, s, 2, 0)
	clients := flock(s, 8, plain)
	for generation := 2; generation <= 4; generation++ {
		edit(t, s, generation)
		s.Signal(syscall.SIGHUP)
		allReady(t, s, 2, 2*(generation-1))
		if got := tell(t, s.Succeed(input{})); got.generation != strconv.Itoa(generation) {
			t.Errorf("generation %s answers, want %d", got.generation, generation)
		}
	}
	for _, a := range clients.leave() {
		t.Errorf("one was lost: %s", a)
	}
}

// TestReloadLetsWhatRunsFinish, be it ever so slow, while others are answered by the new worker.
func TestReloadLetsWhatRunsFinish(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--queue", "8"}})
	open := makeFIFO(t, s.Dir, "gate")
	running := s.Begin("running", input{"gate": "gate", "token": "running"})
	s.WaitLog("waiting running")
	old := strconv.Itoa(s.Worker())
	waiting := s.Visit("waiting", input{})
	edit(t, s, 2)
	s.Signal(syscall.SIGHUP)
	if got := tell(t, harness.Receive(t, waiting.Answer)); got.generation != "2" || got.pid == old {
		t.Errorf("what waited was answered by %+v", got)
	}
	if got := tell(t, s.Succeed(input{})); got.generation != "2" {
		t.Errorf("a new one was answered by %+v", got)
	}
	open()
	if got := tell(t, harness.Receive(t, running)); got.generation != "1" || got.pid != old {
		t.Errorf("what ran was answered by %+v", got)
	}
}

func TestReloadStopFirst(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--queue", "32", "--reload-strategy", "stop-first"}})
	clients := flock(s, 4, plain)
	clients.more(t, 20)
	edit(t, s, 2)
	s.Signal(syscall.SIGHUP)
	allReady(t, s, 1, 1)
	clients.more(t, 20)
	for _, a := range clients.leave() {
		t.Errorf("one was lost: %s", a)
	}
	if got := tell(t, s.Succeed(input{})); got.generation != "2" {
		t.Errorf("generation %s answers", got.generation)
	}
}

// TestAReloadThatFailsChangesNothing, and the one after it does.
func TestAReloadThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{})
	edit(t, s, 2)
	broken := filepath.Join(s.Dir, "broken.txt")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Signal(syscall.SIGHUP)
	harness.Eventually(t, "the successor has failed", func() bool {
		_, found := s.Log.First(func(l harness.Line) bool { return strings.Contains(l.Text, "the worker's successor failed") })
		return found
	})
	if got := tell(t, s.Succeed(input{})); got.generation != "1" {
		t.Errorf("generation %s answers", got.generation)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	allReady(t, s, 1, 1)
	if got := tell(t, s.Succeed(input{})); got.generation != "2" {
		t.Errorf("generation %s answers", got.generation)
	}
}

// TestAModelThatWasMendedIsServed: SETUP_FAILED is not for ever.
func TestAModelThatWasMendedIsServed(t *testing.T) {
	t.Parallel()
	dir := harness.Models(t)
	broken := filepath.Join(dir, "broken.txt")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := harness.Start(t, harness.Options{Model: "fleet.py", Dir: dir})
	h := s.WaitHealth("SETUP_FAILED")
	wantText(t, "setup's logs", h.Setup.Logs, "it cannot be set up today")
	wantCode(t, "meanwhile", s.Input(input{}), http.StatusServiceUnavailable)
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	s.Signal(syscall.SIGHUP)
	s.WaitHealth("READY")
	s.Succeed(input{})
}

// TestASetupThatFailsSometimes is tried again where another worker's went well, or a retry was asked for.
func TestASetupThatFailsSometimes(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--workers", "3"}, Env: []string{"FAIL_BIRTHS=2"}})
	allReady(t, s, 3, 1)
	s = fleet(t, harness.Options{Args: []string{"--setup-retries", "2"}, Env: []string{"FAIL_BIRTHS=1"}})
	allReady(t, s, 1, 1)
}

func TestALostGPUContextRetiresTheWorker(t *testing.T) {
	t.Parallel()
	s := fleet(t, harness.Options{Args: []string{"--queue", "4"}})
	first := tell(t, s.Succeed(input{})).pid
	a := s.Fail(input{"do": "lose_gpu"})
	wantText(t, "error", a.Error, "an illegal memory access was encountered")
	if second := tell(t, s.Succeed(input{})).pid; second == first {
		t.Error("the same worker answers")
	}
	wantText(t, "last exit", s.WaitHealth("READY").Workers[0].LastExit, "its GPU context is lost", "an illegal memory access was encountered")
}

// TestARemovedCacheDoesNotBreakRestarts: the package that workers import is put back.
func TestARemovedCacheDoesNotBreakRestarts(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	s := fleet(t, harness.Options{Args: []string{"--queue", "4"}, Env: []string{"XDG_CACHE_HOME=" + cache}})
	for _, spoil := range []func() error{
		func() error { return os.RemoveAll(filepath.Join(cache, "pinion")) },
		func() error { return os.RemoveAll(cache) },
	} {
		before := tell(t, s.Succeed(input{})).pid
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(s.Worker(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, "another worker is ready", func() bool {
			h := s.Health()
			return h.Status == "READY" && strconv.Itoa(h.Workers[0].PID) != before
		})
		s.Succeed(input{})
	}
}

// TestOrphansAreReaped where the server adopts them: as the first process of a container, or told to by prctl(2).
func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string][]string{
		"subreaper":     {harness.AnyPython(t).Path, "-c", "import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"},
		"first process": {"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"},
	} {
		t.Run(name, func(t *testing.T) {
			if wrap[0] == "unshare" && exec.Command(wrap[0], append(slices.Clone(wrap[1:]), "true")...).Run() != nil {
				t.Skip("this user may not make process namespaces")
			}
			s := fleet(t, harness.Options{Wrap: wrap, Args: []string{"--queue", "4"}})
			for range 10 {
				s.Succeed(input{"do": "orphan"})
			}
			harness.Eventually(t, "no zombie is left", func() bool { return len(harness.Zombies(s)) == 0 })
			a := s.Fail(input{"do": "lose_gpu"}) // and the workers' exits are theirs
			wantText(t, "error", a.Error, "CUDA error")
			s.Succeed(input{})
			s.Do(http.MethodPost, "/shutdown", nil)
			s.Ended(0)
		})
	}
}

// TestOutOfMemoryIsToldFromAKill where control groups can be made.
func TestOutOfMemoryIsToldFromAKill(t *testing.T) {
	t.Parallel()
	group, enter := memoryGroup(t, 400<<20)
	s := fleet(t, harness.Options{Wrap: enter, Args: []string{"--queue", "4"}})
	a := s.Fail(input{"do": "grow_without_end"})
	wantText(t, "error", a.Error, "worker killed (SIGKILL) while running this prediction, out of memory: the kernel ended it", "400 MiB")
	s.Succeed(input{})
	s.Stop()
	_ = os.Remove(group)

	s = fleet(t, harness.Options{Args: []string{"--queue", "4"}})
	answer := s.Begin("killed", input{"do": "sleep", "token": "killed"})
	harness.Eventually(t, "it runs", func() bool { return len(lines(t, s, "ran.txt")) == 1 })
	if err := syscall.Kill(s.Worker(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantText(t, "error", harness.Receive(t, answer).Error, "worker killed (SIGKILL) while running this prediction")
}

// memoryGroup makes a control group with a memory limit, and a command that enters it.
func memoryGroup(t *testing.T, limit int64) (folder string, enter []string) {
	t.Helper()
	set := func(name, value string) error { // only what the kernel has put there
		file, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = file.WriteString(value)
		return err
	}
	for _, of := range [][2]string{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}} {
		folder = filepath.Join(of[0], fmt.Sprintf("pinion-test-%d", os.Getpid()))
		if os.Mkdir(folder, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(folder) })
		_ = set("memory.swap.max", "0") // where there is swap
		if set(of[1], strconv.FormatInt(limit, 10)) == nil {
			return folder, []string{"sh", "-c", `echo $$ >"$0"/cgroup.procs && exec "$@"`, folder}
		}
		_ = os.Remove(folder)
	}
	t.Skip("no control group can be made here")
	return "", nil
}
