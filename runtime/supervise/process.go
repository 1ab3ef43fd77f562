package supervise

import (
	"fmt"
	"os"
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

// EnvName is the environment variable that makes the binary a worker. It holds an ipc.WorkerConfig as JSON, and is
// removed before the model can see it.
const EnvName = "PINION_WORKER"

// CollectorOff keeps Go's garbage collector off in a process of another role, which only starts Python. Go code could
// turn it off only too late: the first cycle begins while packages are initialised. The process removes it, so the
// model does not see it; no other program would write "off" like this.
const CollectorOff = collector + "-1"

const collector = "GOGC="

// CancelSignal makes a worker look at its cancel words. Go must never handle it.
const CancelSignal = unix.SIGUSR1

// process is a worker process with its channels. It implements slot.Worker.
type process struct {
	child   child
	from    *preloadProcess // that it is a fork of, or nil
	shared  sharedMemory
	control *ipc.Conn
	page    *ipc.Page
	logs    *logs
	ending  latch // closed once the process is to end: it was killed, or has closed a channel

	// Guarded by the child's lock.
	killed string    // why this server killed it; "" if it did not
	fault  ExitCause // the same, classified
	closed bool      // it closed a channel and kept running
	gaveUp bool      // it was given up; child.exit is set

	shortage atomic.Bool                   // it was killed because this server lacked descriptors or memory to serve it
	stuck    chan string                   // gets one value: why it must be replaced
	threads  atomic.Bool                   // its slots have threads
	stacks   stacks                        // answers to requests for the stacks of its predictions
	running  atomic.Pointer[func() string] // names the prediction that the worker runs, for the server's log
}

// start starts a worker process, by a fork of the preload process if there is one. If that fails, the preloader logs
// why and the worker is started the ordinary way.
func start(exe string, t task, orphans *Orphans, from *Preloader, records recorder) (*process, error) {
	p := &process{child: newChild(orphans), ending: newLatch(), stuck: make(chan string, 1), stacks: newStacks()}
	control, theirs, err := ipc.Pair("control", 1)
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
		p.child.pipes = append(p.child.pipes, pipeName(ends[i]))
	}
	if p.logs, err = newLogs(ours, page, records, p.runs); err != nil {
		p.discard(ours)
		return nil, err
	}
	p.from, err = from.fork(&p.child, t, [...]*os.File{theirs, page.File(), ends[stdout], ends[stderr]})
	if err != nil {
		p.logs.Close()
		p.discard([inherited]*os.File{})
		return nil, fmt.Errorf("fork worker: %w", err)
	}
	if p.from != nil {
		page.SetScore(p.child.score)
		go p.wait()
		return p, nil
	}
	cmd, err := roleCommand("worker", exe, t, theirs, page.File())
	if err == nil {
		cmd.Stdout, cmd.Stderr = ends[stdout], ends[stderr]
		p.child.cmd = cmd
		err = orphans.start(&p.child)
	}
	if err != nil {
		p.logs.Close()
		p.discard([inherited]*os.File{})
		return nil, fmt.Errorf("start worker process: %w", err)
	}
	page.SetScore(p.child.score)
	go p.wait()
	return p, nil
}

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

// discard frees the resources of a worker that was not started.
func (p *process) discard(pipes [inherited]*os.File) {
	p.control.Close()
	p.page.Close()
	for _, f := range pipes {
		f.Close() // a nil file is allowed
	}
}

// runs names the prediction that the worker runs, or "" if that is not known.
func (p *process) runs() string {
	if f := p.running.Load(); f != nil {
		return (*f)()
	}
	return ""
}

// pipeName returns how /proc names a pipe.
func pipeName(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	stat, _ := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("pipe:[%d]", stat.Ino)
}

func (p *process) wait() {
	ws, err := p.child.awaitEnd()
	defer p.child.clear()
	p.child.mu.Lock()
	defer p.child.mu.Unlock()
	defer close(p.child.exited)
	if p.gaveUp {
		return
	}
	switch { // a worker that has lost the control channel ends itself, by its control thread
	case p.killed != "":
	case p.page != nil && p.page.LostControl():
		p.killed, p.fault = lostControlReason, CauseProtocol
	case p.closed:
		p.killed, p.fault = closedReason, CauseProtocol
	}
	if err == nil {
		p.child.exit = exitOf(ws, p.killed)
		p.child.exit.Fault = p.fault
		p.child.exit.CPULimit, p.child.exit.CPUUsed = p.child.usedUpCPU()
		p.child.exit.Lowered = p.child.lowered()
	} else {
		p.child.exit = Exit{Unknown: err} // other code has reaped it
	}
}

func (p *process) Interrupt() {
	if p.threads.Load() {
		if p.page.BeginInterrupt() {
			_ = p.control.Send(ipc.KindInterrupt, 0) // fails only for a process that is ending
		}
		return
	}
	p.child.signal(func(pid int) { _ = unix.Tgkill(pid, pid, CancelSignal) }) // fails only for a process that is ending
}

func (p *process) Kill(fault slot.Fault, why string) {
	switch fault {
	case slot.FaultCancelTimeout:
		p.terminate(CauseCancelTimeout, why)
	case slot.FaultShortage:
		p.shortage.Store(true)
		fallthrough
	default:
		p.terminate(CauseProtocol, why)
	}
}

// terminate kills the worker; its descendants are ended afterwards. The first cause counts.
func (p *process) terminate(cause ExitCause, why string) {
	p.child.signal(func(pid int) {
		if p.killed == "" {
			p.killed, p.fault = why, cause
		}
		_ = unix.Kill(pid, unix.SIGKILL) // fails only for a process that has ended
		p.ending.close()
	})
}

const (
	// closedGrace is how long a worker may keep running after it closed a channel.
	closedGrace = time.Second
	// closeTimeout is how long after that a process that has died is certainly seen to exit.
	closeTimeout = 20 * time.Millisecond
	// closedReason is why a worker that closed a channel ends.
	closedReason = "it closed its channel to the server and kept running"
	// lostControlReason is the same for the control channel.
	lostControlReason = "the model's code closed the worker's control channel to the server"
)

// Closed ends a worker that has closed a channel. Most such workers have died, and their wait status says how; in one
// that keeps running, the model has closed descriptors that are not its own.
func (p *process) Closed() {
	p.ending.close()
	go func() {
		timeout := time.After(closeTimeout)
		for {
			select {
			case <-p.child.exited:
				return
			case <-timeout:
				p.child.signal(func(int) { p.closed = p.closed || p.child.living() })
				continue
			case <-time.After(closedGrace):
			}
			if p.givenUp() {
				return
			}
			if !p.child.dying() {
				p.terminate(CauseProtocol, closedReason)
			}
		}
	}()
}

// TakeLogs claims what the worker wrote up to these positions for a prediction; "" means none.
func (p *process) TakeLogs(prediction string, at ipc.LogMark) []slot.Text {
	return p.logs.Take(prediction, [sources]uint64{at.Stdout, at.Stderr, at.OwnStdout, at.OwnStderr})
}

// TakeSetupLogs claims what was written up to these positions for the setup.
func (p *process) TakeSetupLogs(at ipc.LogMark) {
	p.logs.takeSetup([sources]uint64{at.Stdout, at.Stderr, at.OwnStdout, at.OwnStderr})
}

func (p *process) LogPipe(fd int, isStderr bool) { p.addPipe(fd, isStderr, false) }

// addPipe takes over a pipe of the running prediction, or one whose output is unattributed.
func (p *process) addPipe(fd int, isStderr, unattributed bool) {
	s := ownStdout
	if isStderr {
		s = ownStderr
	}
	p.logs.add(s, fd, unattributed)
}

// LogPipesEnd makes further output of the running prediction's pipes unattributed.
func (p *process) LogPipesEnd() { p.logs.endOwn() }

func (p *process) Logged(prediction string, text ipc.Log) {
	s := stdout
	if text.Source == sourceNames[stderr] {
		s = stderr
	}
	p.logs.Logged(s, prediction, []byte(text.Data), text.Record)
}

// LogRecord takes a LogRecord frame.
func (p *process) LogRecord(f *ipc.Frame) error {
	r, err := ipc.ParseLogRecord(f.Body)
	if err == nil {
		p.logs.Mark(r)
	}
	return err
}

// dup duplicates a descriptor, for a send that takes it over.
func dup(f *os.File) (int, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return -1, fmt.Errorf("duplicate descriptor: %w", err)
	}
	return fd, nil
}
