package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/runtime/slot"
)

// The worker's inherited descriptors, after stdin, stdout and stderr.
const (
	ControlFD = 3
	PageFD    = 4
)

// EnvName is the environment variable that makes the binary a worker; it holds its Spec as JSON,
// and is removed before the model could see it.
const EnvName = "PINION_WORKER"

// CancelSignal is what makes a worker look at its cancel words. Go must never be notified of it.
const CancelSignal = unix.SIGUSR1

// Spec is what a worker is told of its task. cog._worker.entry reads the same document.
type Spec struct {
	Python      string `json:"python"`
	LibPython   string `json:"libpython"`
	SDK         string `json:"sdk"`
	Root        string `json:"root"`
	Ref         string `json:"ref"`
	Mode        string `json:"mode"`
	Train       string `json:"train,omitempty"` // the train function's reference
	Concurrency int    `json:"concurrency,omitempty"`
	Weights     string `json:"weights,omitempty"`
	NoCUDA      bool   `json:"no_cuda,omitempty"`
	NoWarmUp    bool   `json:"no_warm_up,omitempty"` // the model's example is not run after its setup
	// NoneDefaults is "optional" where inputs with the default None and a type without it may be null.
	NoneDefaults string `json:"none_defaults,omitempty"`
	// GPULost are words of errors after which a batch is not tried again in the same process.
	GPULost []string `json:"gpu_lost,omitempty"`
	// Template: it is to be no worker, but what workers are forked from; see the type of that name.
	Template bool `json:"template,omitempty"`
}

// process is one worker process. It implements slot.Worker.
type process struct {
	cmd     *exec.Cmd // nil: it was forked from a template
	pid     int
	control *ipc.Conn
	page    *ipc.Page
	logs    *logs
	exited  chan struct{} // closed once exit is set
	ending  chan struct{} // closed once the process is to end, by a signal of ours or because it has closed a channel
	orphans *Orphans      // knows of the process; may be nil

	mu     sync.Mutex
	reaped bool // the pid may be another's
	killed string
	fault  Verdict // that it was killed for
	closed bool    // it closed a channel while it lived
	gaveUp bool    // nobody waits for its end any more; exit is set
	exit   Exit
	once   sync.Once // closes ending

	// running names the prediction that the worker has at this moment, for the server's log.
	running atomic.Pointer[func() string]
}

// start starts a worker process. It is forked from the template, where that is not nil and can; what came in the way
// is written to the log by the template.
func start(exe string, spec Spec, env []string, orphans *Orphans, from *Template, note noteFunc) (*process, error) {
	p := &process{exited: make(chan struct{}), ending: make(chan struct{}), orphans: orphans}
	control, theirs, err := ipc.Pair("control")
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	p.control = control
	page, err := ipc.NewPage()
	if err != nil {
		control.Close()
		return nil, err
	}
	p.page = page
	var ours, ends [inherited]*os.File
	for i := range ours {
		if ours[i], ends[i], err = logPipe(sourceNames[i]); err != nil {
			p.discard(ours)
			return nil, err
		}
		defer ends[i].Close()
	}
	if p.logs, err = newLogs(ours, page, note, p.runs); err != nil {
		p.discard(ours)
		return nil, err
	}
	if pid, ok := from.fork(spec, env, [...]*os.File{theirs, page.File(), ends[stdout], ends[stderr]}); ok {
		p.pid = pid
		go p.wait()
		return p, nil
	}
	if p.cmd, err = roleCommand("worker", exe, spec, env, theirs, page.File()); err == nil {
		p.cmd.Stdout, p.cmd.Stderr = ends[stdout], ends[stderr]
		err = orphans.start(p.cmd)
	}
	if err != nil {
		p.logs.Close()
		p.discard([inherited]*os.File{})
		return nil, fmt.Errorf("start worker process: %w", err)
	}
	p.pid = p.cmd.Process.Pid
	expendable(p.pid)
	go p.wait()
	return p, nil
}

// logPipe makes a pipe whose read end, the front's, does not block.
func logPipe(name string) (read, write *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("make log pipe: %w", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, fmt.Errorf("set log pipe non-blocking: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name), nil
}

// discard gives back what a worker that was not started would have had.
func (p *process) discard(pipes [inherited]*os.File) {
	p.control.Close()
	p.page.Close()
	for _, f := range pipes {
		f.Close() // of a nil file: an error, and nothing else
	}
}

// runs names the prediction that the worker has at this moment, where that can be told.
func (p *process) runs() string {
	if f := p.running.Load(); f != nil {
		return (*f)()
	}
	return ""
}

// wait judges the exit. Signals are stopped before the process is reaped, so that none ever goes
// to a stranger that got its number.
func (p *process) wait() {
	untilEnded(p.pid)
	p.mu.Lock()
	_ = unix.Kill(-p.pid, unix.SIGKILL) // what it started ends with it; the group may be empty
	p.reaped = true
	p.mu.Unlock()
	ws, err := p.reap()
	p.orphans.waited(p.pid)
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(p.exited)
	if p.gaveUp {
		return
	}
	if p.closed && p.killed == "" { // its own control thread ends a worker that has lost the channel
		p.killed, p.fault = closedWords, Protocol
	}
	if err == nil {
		p.exit = exitOf(ws, p.killed)
		p.exit.Fault = p.fault
	} else {
		p.exit = Exit{Unknown: err} // somebody else has reaped it
	}
}

// reap takes the exit status of the process, which has ended.
func (p *process) reap() (syscall.WaitStatus, error) {
	if p.cmd == nil {
		var ws unix.WaitStatus
		_, err := unix.Wait4(p.pid, &ws, 0, nil)
		return syscall.WaitStatus(ws), err
	}
	return reapCommand(p.cmd)
}

// Interrupt makes the worker's main thread look at its cancel words.
func (p *process) Interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = unix.Tgkill(p.pid, p.pid, CancelSignal) // fails only for a process that is ending
	}
}

// Kill is end, for the pool.
func (p *process) Kill(fault slot.Fault, why string) {
	if fault == slot.FaultStubborn {
		p.end(Stubborn, why)
		return
	}
	p.end(Protocol, why)
}

// end ends the worker and all it started, at once.
func (p *process) end(fault Verdict, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return
	}
	if p.killed == "" {
		p.killed, p.fault = why, fault
	}
	_ = unix.Kill(p.pid, unix.SIGKILL)  // fails only for a process that has ended
	_ = unix.Kill(-p.pid, unix.SIGKILL) // fails only where it left its group, or that is gone
	p.isEnding()
}

// isEnding starts the time in which the process is to be gone.
func (p *process) isEnding() { p.once.Do(func() { close(p.ending) }) }

// closedGrace is how long a worker may live on after it closed a channel.
const closedGrace = time.Second

// closedWords are why a worker ends that closed a channel.
const closedWords = "it closed its channel to the server and lived on"

// closedLook is how long after a channel was closed a process that has died is on its way out for certain.
const closedLook = 20 * time.Millisecond

// Closed sees to it that a worker which closed a channel ends. Mostly it has died, and how is for
// its wait status to say; one that lives on has closed descriptors that are not its own.
func (p *process) Closed() {
	p.isEnding()
	go func() {
		look := time.After(closedLook)
		for {
			select {
			case <-p.exited:
				return
			case <-look:
				p.mu.Lock()
				p.closed = p.closed || !p.reaped && p.living()
				p.mu.Unlock()
				continue
			case <-time.After(closedGrace):
			}
			if p.givenUp() {
				return
			}
			if !p.dying() {
				p.end(Protocol, closedWords)
			}
		}
	}()
}

// dying tells whether the process is on its way out, which takes seconds where a driver has much to
// free: how it ends is decided, and must not be taken for this server's doing.
func (p *process) dying() bool {
	exiting, known := p.exiting()
	return known && exiting
}

// living tells whether the process is certainly not on its way out.
func (p *process) living() bool {
	exiting, known := p.exiting()
	return known && !exiting
}

// exiting is what the kernel says, where it can be read.
func (p *process) exiting() (exiting, known bool) {
	const flag = 0x4 // PF_EXITING of the kernel's include/linux/sched.h
	fields := statOf(p.pid)
	if len(fields) < 7 {
		return false, false
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	return flags&flag != 0, err == nil
}

// TakeLogs claims what the worker wrote up to these positions for a prediction, or, "", for none.
func (p *process) TakeLogs(prediction string, at slot.LogPositions) []slot.Text {
	return p.logs.Take(prediction, [sources]uint64{at.Stdout, at.Stderr, at.OwnStdout, at.OwnStderr}, at.Traceback)
}

// LogPipe takes over a pipe of the running prediction's own.
func (p *process) LogPipe(fd int, isStderr bool) { p.addPipe(fd, isStderr, false) }

// addPipe takes over a pipe of the running prediction's own, or one that is nobody's.
func (p *process) addPipe(fd int, isStderr, nobodys bool) {
	s := ownStdout
	if isStderr {
		s = ownStderr
	}
	p.logs.add(s, fd, nobodys)
}

// LogPipesEnd makes the running prediction's own pipes nobody's.
func (p *process) LogPipesEnd() { p.logs.endOwn() }

// Logged passes text on that the worker told apart itself.
func (p *process) Logged(stream, prediction string, text []byte) {
	s := stdout
	if stream == sourceNames[stderr] {
		s = stderr
	}
	p.logs.Logged(s, prediction, text)
}

// dup duplicates a descriptor, for a send that takes it over.
func dup(f *os.File) (int, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return -1, fmt.Errorf("duplicate descriptor: %w", err)
	}
	return fd, nil
}
