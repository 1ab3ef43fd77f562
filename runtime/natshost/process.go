package natshost

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pinion/runtime/logtext"
)

// Children starts processes, and is told when one was waited for. A process that reaps orphans must tell its children
// from them.
type Children interface {
	Start(cmd *exec.Cmd) error
	Waited(pid int)
}

// natsProcess is a process of pinion-nats. runtime/natsserver says how the two speak.
type natsProcess struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{}
	cause error // why it has ended, once it has
}

const (
	// natsStartWait bounds a start: the server reads its store within a minute, and may wait for one that is ending.
	natsStartWait = 90 * time.Second
	// natsEndWait is how long a server that was told to end may take.
	natsEndWait = 10 * time.Second
)

// natsReady is what a server says when it serves.
const natsReady = "ready"

var errClosing = errors.New("the job queue is being closed")

// start starts a process and waits until it serves.
func (h *Host) startProcess() (*natsProcess, error) {
	p := &natsProcess{ended: make(chan struct{})}
	p.cmd = &exec.Cmd{
		Path:       "/proc/self/fd/" + strconv.Itoa(int(h.program.Fd())),
		Args:       []string{"pinion-nats", "-version", h.o.Version, "-dir", h.o.Dir, "-sync", h.o.Sync.String()},
		Env:        append(os.Environ(), h.o.Env...),
		Stderr:     &lineLogger{log: h.o.Logger},
		ExtraFiles: []*os.File{h.socket},
		// A terminal's signals stay away from it: it ends after this process has drained.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
		WaitDelay:   time.Second,
	}
	said, err := p.begin(h.o.Children)
	if err != nil {
		return nil, fmt.Errorf("start the job queue with %s: %w", h.o.Program, err)
	}
	select {
	case line := <-said:
		if line == natsReady {
			return p, nil
		}
		p.close()
		if line == "" {
			return nil, fmt.Errorf("start the job queue in %s: pinion-nats has ended: %w", h.o.Dir, p.cause)
		}
		return nil, errors.New(line)
	case <-h.closing:
		p.close()
		return nil, errClosing
	case <-time.After(natsStartWait):
		p.close()
		return nil, fmt.Errorf("start the job queue in %s: pinion-nats did not answer within %s", h.o.Dir, natsStartWait)
	}
}

// begin starts the process; said gets the line that it says, or "" at its end.
func (p *natsProcess) begin(children Children) (said <-chan string, err error) {
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	start := (*exec.Cmd).Start
	if children != nil {
		start = func(cmd *exec.Cmd) error { return children.Start(cmd) }
	}
	if err := start(p.cmd); err != nil {
		return nil, err
	}
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(stdout).ReadString('\n') // without one it has ended
		line <- strings.TrimSpace(text)
		p.cause = p.cmd.Wait()
		if children != nil {
			children.Waited(p.cmd.Process.Pid)
		}
		close(p.ended)
	}()
	return line, nil
}

// check makes the server end if its store does not work.
func (p *natsProcess) check() {
	_, _ = io.WriteString(p.stdin, "\n") // one that has ended is started again anyhow
}

// close ends the process.
func (p *natsProcess) close() {
	_ = p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(natsEndWait):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// firstFD is above the descriptors that a process is started with: those are moved to their places before the file is
// executed.
const firstFD = 10

// openProgram opens a file to be executed by its descriptor.
func openProgram(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, firstFD)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// maxLine is how much of a line of the server's log is kept.
const maxLine = 4 << 10

// lineLogger logs what is written to it, a line at a time.
type lineLogger struct {
	log  *slog.Logger
	line []byte
}

func (l *lineLogger) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		l.line = append(l.line, line[:min(len(line), maxLine-len(l.line))]...)
		if !whole {
			return n, nil
		}
		l.log.Warn("the job queue's NATS server: " + string(logtext.Complete(l.line)))
		l.line, p = l.line[:0], rest
	}
}
