package supervise

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/runtime/logtext"
)

// handles is how many descriptors a forked worker is given: control, page, stdout, stderr.
const handles = 4

// forkTimeout is how long a fork may take; it copies the page tables.
const forkTimeout = 10 * time.Second

// hasThreads is the answer of a process that can fork no more, as pyembed/serving_preload.c sends it.
const hasThreads = "the preload process has threads by now"

// errNotForked means that the preload process answered that it forked no worker.
var errNotForked = errors.New("the preload process forked no worker")

// preloadProcess is one preload process. Ending a nil one does nothing.
type preloadProcess struct {
	child   child
	channel *ipc.Conn
	task    task
	took    time.Duration // for its start and the import
	// setupSeconds is what the model's setup took, if it has run it.
	setupSeconds float64
	hasThreads   atomic.Bool // it answered that it has threads by now, so it forks no more
	ready        chan error  // gets one value: nil, or why no worker can be forked
	answers      chan ipc.Forked
	gaveUp       latch // closed once it was killed and given up
	forks        atomic.Int64
	mu           sync.Mutex
	workers      []*child // forked workers that may be alive
	flush        func()   // logs its last line, if that has no newline
	output       output   // of its import and setup
	shared       sharedMemory
}

// output keeps what a process writes, as a setup's text.
type output struct {
	mu   sync.Mutex
	text logtext.Text
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Add(text)
	return len(text), nil
}

// setupText returns what the import and the setup have written, if the process has run the setup.
func (m *preloadProcess) setupText() string {
	if m == nil || !m.task.spec.PreloadSetup {
		return ""
	}
	m.output.mu.Lock()
	defer m.output.mu.Unlock()
	return strings.ToValidUTF8(string(m.output.text.Bytes()), "\uFFFD")
}

// startPreloadProcess starts a process; its channel ready says when it can fork.
func startPreloadProcess(exe string, t task, orphans *Orphans, records recorder) (*preloadProcess, error) {
	m := &preloadProcess{
		child: newChild(orphans), task: t,
		ready: make(chan error, 1), answers: make(chan ipc.Forked, 1), gaveUp: newLatch(),
	}
	t.spec.Preload = true
	channel, theirs, err := ipc.Pair("preload", 1)
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	if m.child.cmd, err = roleCommand("preload", exe, t, theirs); err != nil {
		channel.Close()
		return nil, err
	}
	m.channel = channel
	out, errs := newLines(stdout, records), newLines(stderr, records)
	m.child.cmd.Stdout, m.child.cmd.Stderr = io.MultiWriter(out, &m.output), io.MultiWriter(errs, &m.output)
	m.child.cmd.WaitDelay = time.Second // a process that the import started may hold the pipes
	// It has no thread that would notice the front's exit during the import.
	m.child.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	m.flush = func() { out.end(); errs.end() }
	began := time.Now()
	started := make(chan error)
	go m.run(started)
	if err := <-started; err != nil {
		channel.Close()
		return nil, fmt.Errorf("start preload process: %w", err)
	}
	go m.listen(began)
	return m, nil
}

// run starts the process and waits for its end, on one thread: the kernel kills the process when the thread that
// started it ends (Pdeathsig).
func (m *preloadProcess) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := m.child.orphans.start(&m.child); err != nil {
		started <- err
		return
	}
	started <- nil
	ws, err := m.child.awaitEnd()
	if err == nil {
		m.child.exit = exitOf(ws, "")
	}
	close(m.child.exited)
	m.awaitWorkers()
	m.child.clear()
	m.flush()
}

// awaitWorkers waits until the forked workers have ended, because they use helpers that the import started, such as a
// resource tracker.
func (m *preloadProcess) awaitWorkers() {
	m.mu.Lock()
	workers := m.workers
	m.mu.Unlock()
	for _, c := range workers {
		select {
		case <-c.cleared:
		case <-c.givenUp.closed:
		}
	}
}

// awaitCleared waits until the process and all its descendants have ended, or it was given up.
func (m *preloadProcess) awaitCleared() {
	select {
	case <-m.child.cleared:
	case <-m.gaveUp.closed:
	}
}

// listen reads the process's channel until it ends.
func (m *preloadProcess) listen(began time.Time) {
	for {
		err := m.channel.Recv(func(f *ipc.Frame) {
			switch f.Kind {
			case ipc.KindPreloaded:
				p, err := ipc.ParsePreloaded(f.Body)
				switch {
				case p.Refused != "" && p.Imports:
					err = &setupError{p.Refused, p.SetupSeconds}
				case p.Refused != "":
					err = errors.New(p.Refused)
				}
				m.took, m.setupSeconds = time.Since(began), p.SetupSeconds
				m.settle(err)
			case ipc.KindForked:
				a, err := ipc.ParseForked(f.Body)
				if err != nil {
					a.Error = err.Error()
				}
				select {
				case m.answers <- a:
				default: // fork does not wait for it any more
				}
			}
		})
		if err != nil {
			select {
			case <-m.child.exited:
			case <-m.gaveUp.closed:
			}
			m.settle(errors.New(m.cause("while it imported the model")))
			return
		}
	}
}

// settle ends the wait for the import; only the first call counts.
func (m *preloadProcess) settle(err error) {
	select {
	case m.ready <- err:
	default:
	}
}

// awaitExit waits until the process has exited, at most that long.
func (m *preloadProcess) awaitExit(timeout time.Duration) {
	select {
	case <-m.child.exited:
	case <-m.gaveUp.closed:
	case <-time.After(timeout):
	}
}

// imports is the part of a WorkerConfig that an import depends on.
type imports struct {
	python, library, root, ref, train, mode string
	noCUDA                                  bool
}

func importOf(s ipc.WorkerConfig) imports {
	return imports{s.Python, s.LibPython, s.Root, s.Ref, s.Train, s.Mode, s.NoCUDA}
}

// setupConfig is the part that a setup depends on, beside the import.
type setupConfig struct {
	weights, noneDefaults string
	concurrency           int
	noWarmUp              bool
}

func (m *preloadProcess) fits(spec ipc.WorkerConfig) bool {
	of := func(s ipc.WorkerConfig) setupConfig {
		return setupConfig{s.Weights, s.NoneDefaults, s.Concurrency, s.NoWarmUp}
	}
	return importOf(m.task.spec) == importOf(spec) && (!m.task.spec.PreloadSetup || of(m.task.spec) == of(spec))
}

// fork forks a worker with these descriptors; when it returns, the worker is the front's child. It inherits the
// process's oom_score_adj. The caller holds the lock of Orphans, so one call runs at a time.
func (m *preloadProcess) fork(c *child, score int, t task, files [handles]*os.File) (int, error) {
	if score != 0 && setScore(m.child.pid, score) {
		defer preferForOOM(m.child.pid, m.child.score)
	}
	pid, err := m.forkWith(t, files)
	if err != nil {
		return 0, err
	}
	m.mu.Lock()
	m.workers = append(slices.DeleteFunc(m.workers, func(c *child) bool { return isClosed(c.cleared) }), c)
	m.mu.Unlock()
	return pid, nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (m *preloadProcess) forkWith(t task, files [handles]*os.File) (int, error) {
	fds, err := dupAll(files)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errNotForked, err)
	}
	for i, fd := range fds {
		if err := m.channel.SendFile(ipc.KindHandle, uint64(i), fd); err != nil {
			for _, unsent := range fds[i+1:] {
				unix.Close(unsent)
			}
			return 0, fmt.Errorf("pass a worker's descriptors to the preload process: %w", err)
		}
	}
	if err := m.channel.SendFork(ipc.ForkRequest{Config: t.spec, Env: differences(m.task.env, t.env)}); err != nil {
		return 0, fmt.Errorf("ask the preload process for a worker: %w", err)
	}
	select {
	case a := <-m.answers:
		if a.Error != "" {
			m.hasThreads.Store(a.Error == hasThreads)
			return 0, fmt.Errorf("%w: %s", errNotForked, a.Error)
		}
		return a.PID, m.inherited(a.PID)
	case <-m.child.exited:
		return 0, errors.New("the preload process has ended")
	case <-time.After(forkTimeout):
		return 0, fmt.Errorf("the preload process has not forked a worker within %s", forkTimeout)
	}
}

// dupAll duplicates all of the descriptors, or none.
func dupAll(files [handles]*os.File) (fds [handles]int, err error) {
	for i, f := range files {
		if fds[i], err = dup(f); err != nil {
			for _, fd := range fds[:i] {
				unix.Close(fd)
			}
			return fds, err
		}
	}
	return fds, nil
}

// inherited checks that a worker is this process's child; otherwise it could not be waited for.
func (m *preloadProcess) inherited(pid int) error {
	if f := statOf(pid); len(f) < 2 || f[1] != strconv.Itoa(os.Getpid()) {
		_ = unix.Kill(pid, unix.SIGKILL)
		return fmt.Errorf("%w that is this server's child: the system has no child subreapers", errNotForked)
	}
	m.forks.Add(1)
	return nil
}

func (m *preloadProcess) cause(during string) string {
	select {
	case <-m.child.exited:
	default:
		return "its process was killed and has not ended: it is frozen, or waits in a driver"
	}
	text := strings.TrimPrefix(m.child.exit.Describe(during), "worker ")
	if strings.HasPrefix(text, "killed") {
		text = "was " + text
	}
	return "its process " + text
}

// forked reports whether it has ever forked a worker, which counts as a success.
func (m *preloadProcess) forked() bool { return m.forks.Load() > 0 }

// end kills the process and returns when it has exited, or was given up.
func (m *preloadProcess) end() { m.endWithin(killTimeout) }

func (m *preloadProcess) endWithin(timeout time.Duration) {
	if m == nil {
		return
	}
	m.child.signal(func(pid int) { _ = unix.Kill(pid, unix.SIGKILL) }) // it has nothing to finish
	select {
	case <-m.child.exited:
	case <-m.gaveUp.closed:
	case <-time.After(timeout):
		m.gaveUp.close()
	}
	m.channel.Close()
}

// differences returns the variables that differ between two environments. Of two entries with the same name the last
// counts.
func differences(from, to []string) map[string]*string {
	old, now := variables(from), variables(to)
	diff := make(map[string]*string)
	for name, value := range now {
		if was, set := old[name]; !set || was != value {
			diff[name] = &value
		}
	}
	for name := range old {
		if _, set := now[name]; !set {
			diff[name] = nil
		}
	}
	return diff
}

func variables(env []string) map[string]string {
	m := make(map[string]string, len(env))
	for _, e := range env {
		if name, value, ok := strings.Cut(e, "="); ok {
			m[name] = value
		}
	}
	return m
}
