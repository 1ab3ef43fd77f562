package supervise

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
)

// handles is how many descriptors a worker is given: control, page, stdout, stderr.
const handles = 4

// forkPatience is how long a template may take for a fork, which copies its page tables twice.
const forkPatience = 10 * time.Second

// errNotForked: the template has said that it did not fork a worker.
var errNotForked = errors.New("the template forked no worker")

// mother is one template process. A nil one is never there.
type mother struct {
	cmd     *exec.Cmd
	pid     int
	channel *ipc.Conn
	spec    Spec
	env     []string
	took    time.Duration // for its start and the import
	ready   chan error    // one: nil, or why no worker can be forked
	answers chan forked
	exited  chan struct{} // closed once exit is set
	gaveUp  chan struct{} // closed once nobody waits for its end any more, though it was killed
	exit    Exit
	orphans *Orphans
	begot   atomic.Int64
	rest    func() // logs the last lines, which are no whole ones

	mu     sync.Mutex
	reaped bool      // the pid may be another's
	once   sync.Once // closes gaveUp
}

// forked is the body of a Forked frame.
type forked struct {
	PID   int    `json:"pid"`
	Error string `json:"error"`
}

// startMother starts a template process.
func startMother(exe string, spec Spec, env []string, orphans *Orphans, note func(source, []byte)) (*mother, error) {
	m := &mother{
		spec: spec, env: env, orphans: orphans,
		ready: make(chan error, 1), answers: make(chan forked, 1), exited: make(chan struct{}), gaveUp: make(chan struct{}),
	}
	task := spec
	task.Template = true
	channel, theirs, err := ipc.Pair("template")
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	if m.cmd, err = roleCommand("template", exe, task, env, theirs); err != nil {
		channel.Close()
		return nil, err
	}
	m.channel = channel
	out, errs := newLines(stdout, note), newLines(stderr, note)
	m.cmd.Stdout, m.cmd.Stderr = out, errs
	m.cmd.WaitDelay = time.Second // what the import started may hold the pipes
	// It has no thread that would see the front's end while it imports.
	m.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	m.rest = func() { out.end(); errs.end() }
	began := time.Now()
	started := make(chan error)
	go m.live(started)
	if err := <-started; err != nil {
		channel.Close()
		return nil, fmt.Errorf("start template process: %w", err)
	}
	go m.listen(began)
	return m, nil
}

// live starts the process and waits for its end, on one thread: the process is killed when the thread that started
// it ends, be it long before the front.
func (m *mother) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := m.orphans.start(m.cmd); err != nil {
		started <- err
		return
	}
	m.pid = m.cmd.Process.Pid
	started <- nil
	untilEnded(m.pid)
	m.mu.Lock()
	_ = unix.Kill(-m.pid, unix.SIGKILL) // what it started ends with it, but for workers, which have left its group
	m.reaped = true
	m.mu.Unlock()
	ws, err := reapCommand(m.cmd)
	m.rest()
	m.orphans.waited(m.pid)
	if err == nil {
		m.exit = exitOf(ws, "")
	}
	close(m.exited)
}

// listen reads the template's channel until it ends.
func (m *mother) listen(began time.Time) {
	for {
		err := m.channel.Recv(func(f *ipc.Frame) {
			switch f.Kind {
			case ipc.KindTemplate:
				var said struct{ Refused string }
				err := json.Unmarshal(f.Body, &said)
				if err == nil && said.Refused != "" {
					err = errors.New(said.Refused)
				}
				m.took = time.Since(began)
				m.settle(err)
			case ipc.KindForked:
				var a forked
				if err := json.Unmarshal(f.Body, &a); err != nil {
					a.Error = err.Error()
				}
				select {
				case m.answers <- a:
				default: // nobody waits for it any more
				}
			}
		})
		if err != nil {
			select {
			case <-m.exited:
			case <-m.gaveUp:
			}
			m.settle(errors.New(m.cause("while it imported the model")))
			return
		}
	}
}

func (m *mother) settle(err error) {
	select {
	case m.ready <- err:
	default: // it was settled before
	}
}

// imports is what an import depends on.
type imports struct {
	python, library, root, ref, train, mode string
	noCUDA                                  bool
}

func importOf(s Spec) imports {
	return imports{s.Python, s.LibPython, s.Root, s.Ref, s.Train, s.Mode, s.NoCUDA}
}

// fits tells whether a worker of this task may be forked.
func (m *mother) fits(spec Spec) bool {
	return importOf(m.spec) == importOf(spec)
}

// fork asks for a worker with these descriptors. By the time of the answer it is the front's child. Called under the
// orphans' lock, and so by one goroutine at a time.
func (m *mother) fork(spec Spec, env []string, files [handles]*os.File) (int, error) {
	body, err := forkRequest{Spec: spec, Env: differences(m.env, env)}.encode()
	if err != nil {
		return 0, err
	}
	for i, f := range files {
		fd, err := dup(f)
		if err != nil {
			return 0, err
		}
		if err := m.channel.SendFile(ipc.KindHandle, uint64(i), fd); err != nil {
			return 0, fmt.Errorf("pass a worker's descriptors to the template: %w", err)
		}
	}
	if err := m.channel.Send(ipc.KindFork, 0, body); err != nil {
		return 0, fmt.Errorf("ask the template for a worker: %w", err)
	}
	select {
	case a := <-m.answers:
		if a.Error != "" {
			return 0, fmt.Errorf("%w: %s", errNotForked, a.Error)
		}
		return a.PID, m.inherited(a.PID)
	case <-m.exited:
		return 0, errors.New("the template has ended")
	case <-time.After(forkPatience):
		return 0, fmt.Errorf("the template has not forked a worker within %s", forkPatience)
	}
}

// inherited checks that a worker is this process's child: only then can it be waited for.
func (m *mother) inherited(pid int) error {
	if f := statOf(pid); len(f) < 2 || f[1] != strconv.Itoa(os.Getpid()) {
		_ = unix.Kill(pid, unix.SIGKILL)
		return fmt.Errorf("%w that is this server's child: the system has no child subreapers", errNotForked)
	}
	m.begot.Add(1)
	return nil
}

// cause says in words how the process ended.
func (m *mother) cause(during string) string {
	select {
	case <-m.exited:
	default:
		return "its process was killed and has not ended: it is frozen, or waits in a driver"
	}
	text := strings.TrimPrefix(m.exit.Cause(during), "worker ")
	if strings.HasPrefix(text, "killed") {
		text = "was " + text
	}
	return "its process " + text
}

func (m *mother) forked() bool { return m.begot.Load() > 0 }

// end ends the process and returns when it is gone, or was given up.
func (m *mother) end() { m.endWithin(killPatience) }

func (m *mother) endWithin(patience time.Duration) {
	if m == nil {
		return
	}
	m.mu.Lock()
	if !m.reaped {
		_ = unix.Kill(m.pid, unix.SIGKILL) // it has nothing to finish
	}
	m.mu.Unlock()
	select {
	case <-m.exited:
	case <-m.gaveUp:
	case <-time.After(patience):
		m.once.Do(func() { close(m.gaveUp) })
	}
	m.channel.Close()
}

// lines takes what a process writes apart.
type lines struct {
	source  source
	records recorder
	rest    []byte
}

func newLines(s source, note func(source, []byte)) *lines {
	return &lines{source: s, records: recorder{note: func(s source, _ string, text []byte) { note(s, text) }}}
}

func (l *lines) Write(text []byte) (int, error) {
	l.rest = append(l.rest, text...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found && len(l.rest) < readSize {
			l.records.complete() // an idle template writes nothing that would end it
			return len(text), nil
		}
		l.records.line(l.source, "", line)
		l.rest = rest
	}
}

// end logs what came after the last whole line.
func (l *lines) end() {
	if len(l.rest) > 0 {
		l.records.line(l.source, "", l.rest)
		l.rest = nil
	}
	l.records.end()
}
