package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// ErrNoClock says that no process has a clock here that could be set.
var ErrNoClock = errors.New("a process' own clock cannot be set here")

// Jump shifts the time of day that all processes of the server see, in whole seconds, from now on. Clocks that measure
// durations are not shifted. The machine's clock is not touched: a process reads the time in its vDSO, a page of code,
// and Jump replaces that code (see vdso). A process that starts later sees the true time until the next jump. A wait in
// the kernel until a time of day does not notice. The processes that except names, such as a stopped one, are left
// alone.
func (s *Server) Jump(by time.Duration, except func(pid int) bool) error {
	pids := []int{s.PID} // first: what it has just forked, and has not yet started, shares its memory
	for _, pid := range s.Processes() {
		if pid != s.PID && (except == nil || !except(pid)) {
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		if err := setClock(pid, s.marker, int64(by/time.Second)); err != nil && Alive(pid) {
			return fmt.Errorf("set the clock of process %d: %w", pid, err)
		}
	}
	return nil
}

// setClock sets the clock of one process, which has marker in its environment.
func setClock(pid int, marker string, seconds int64) error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("%w: on amd64 only", ErrNoClock)
	}
	// From here on the process ID may be reused. The handle and the open file still belong to this process.
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(handle)
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w: %w", ErrNoClock, err)
	}
	if err != nil {
		return err
	}
	defer memory.Close()
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return err
	}
	if !strings.Contains(string(environment), marker) {
		return unix.ESRCH
	}
	v, err := findVDSO(pid, memory)
	if err != nil {
		return err
	}
	if !v.changed {
		if err := v.change(pid, handle, memory); err != nil {
			return err
		}
	}
	return v.set(memory, seconds)
}

// change writes the other code while all threads are stopped.
func (v *vdso) change(pid, handle int, memory *os.File) (err error) {
	if err := unix.PidfdSendSignal(handle, unix.SIGSTOP, nil, 0); err != nil {
		return err
	}
	defer func() {
		if e := unix.PidfdSendSignal(handle, unix.SIGCONT, nil, 0); err == nil {
			err = e
		}
	}()
	for end := time.Now().Add(assert.Timeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		stopped, within, err := v.read(pid)
		switch {
		case err != nil:
			return err
		case stopped && !within:
			err := v.write(memory)
			if errors.Is(err, unix.EIO) { // some kernels do not let it be written
				err = fmt.Errorf("%w: %w", ErrNoClock, err)
			}
			return err
		case stopped: // it is let go on, and stops elsewhere
			if err := errors.Join(unix.PidfdSendSignal(handle, unix.SIGCONT, nil, 0),
				unix.PidfdSendSignal(handle, unix.SIGSTOP, nil, 0)); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("it does not stop within %s", assert.Timeout)
}

// read reports whether every thread is stopped, and whether one of them is stopped within the code that will be
// overwritten.
func (v *vdso) read(pid int) (stopped, within bool, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(threads) == 0 {
		return false, false, unix.ESRCH
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread + "/stat")
		if err != nil {
			return false, false, nil // it has just ended
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		if strings.HasPrefix(after, "Z") {
			continue // the first thread, if it ended before the others
		}
		if !strings.HasPrefix(after, "T") {
			return false, false, nil
		}
		call, err := os.ReadFile(thread + "/syscall")
		if err != nil {
			return false, false, err
		}
		// The last word is where its next instruction is, be it in a call of the system or not.
		words := strings.Fields(string(call))
		at, err := strconv.ParseUint(words[len(words)-1], 0, 64)
		if err != nil {
			return false, false, nil // "running": it has not come to rest
		}
		within = within || v.within(at)
	}
	return true, within, nil
}
