package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrInterrupted means that a signal of the user asked for the end.
var ErrInterrupted = errors.New("interrupted")

// ContainArgument is the first argument of the process that stands between this one and a program that it contains.
const ContainArgument = "--contain-program"

// lifelineFD is where that process holds the read end of a pipe whose other end only this process has.
const lifelineFD = 3

// Output runs a program and returns what it wrote to stdout. However it ends, even if this process is killed, no
// process that the program started survives: a process in between adopts and kills them all. The error is
// ErrInterrupted if a signal asked for the end.
func Output(program *exec.Cmd, limit time.Duration) ([]byte, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own binary: %w", err)
	}
	readEnd, lifeline, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	defer lifeline.Close()
	defer readEnd.Close()
	var out bytes.Buffer
	cmd := exec.Command(exe, append([]string{ContainArgument}, program.Args...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = program.Dir, program.Env, &out, program.Stderr
	cmd.ExtraFiles = []*os.File{readEnd} // becomes lifelineFD
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case err := <-ended:
		return out.Bytes(), exitReason(err)
	case <-signals:
		err = ErrInterrupted
	case <-late.C:
		err = fmt.Errorf("it took longer than %s, and was ended; --timeout gives it more time", limit)
	}
	lifeline.Close()
	<-ended //nolint:errcheck // the reason that it was ended says more
	return nil, err
}

// exitReason names the signal that killed a contained program.
func exitReason(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > signalCode {
		return fmt.Errorf("it died of a signal: %s", unix.SignalName(syscall.Signal(exit.ExitCode()-signalCode)))
	}
	return err
}

// signalCode and a signal's number are the exit code of a process whose program died of the signal, as a shell has it.
const signalCode = 128

// ContainMain is the main function of the process in between: it runs the program until that ends or the lifeline is
// cut, and leaves no process behind. It runs on the process's first thread, which lives as long as the process:
// Pdeathsig needs that.
func ContainMain(program []string) int {
	runtime.LockOSThread()
	syscall.CloseOnExec(lifelineFD)
	// QEMU's emulation of a processor does not know the call: there only the program itself is ended.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		fmt.Fprintln(os.Stderr, "pinion: become a child subreaper:", err)
		return 1
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "pinion:", err)
		return 1
	}
	cut := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(lifelineFD, "lifeline"))
		close(cut)
	}()
	ended := make(chan struct{})
	go func() {
		select {
		case <-cut:
		case <-signals:
		case <-ended:
			return
		}
		_ = cmd.Process.Kill()
	}()
	_ = cmd.Wait() // its state tells
	close(ended)
	killDescendants()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return signalCode + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// killDescendants kills what the program left: a process that loses its parent becomes a child of this process, so
// there is an end only when there are no children any more.
func killDescendants() {
	for {
		left := childrenOf(os.Getpid())
		if len(left) == 0 {
			return
		}
		var killed []int
		for _, pid := range left {
			if err := unix.Kill(pid, unix.SIGKILL); err != unix.EPERM { // another user's, as of sudo
				killed = append(killed, pid)
			}
		}
		if len(killed) == 0 {
			return
		}
		for _, pid := range killed {
			for {
				if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
					break
				}
			}
		}
	}
}

// childrenOf returns the children of a process, those that are dead and not yet waited for included.
func childrenOf(parent int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // a fixed pattern
	for _, file := range stats {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it is gone
		}
		// The program's name stands in parentheses, and may hold any character.
		_, rest, _ := strings.Cut(string(data[bytes.LastIndexByte(data, ')')+1:]), " ")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[1] != strconv.Itoa(parent) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
