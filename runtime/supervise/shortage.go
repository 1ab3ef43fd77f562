package supervise

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"
)

// If this server cannot start a worker, it lacks descriptors, processes, memory or disk space, which says nothing about
// the model. The same holds for a worker that lacks threads or memory before its hello. Such a start is tried again
// without limit.
const (
	firstStartDelay = 500 * time.Millisecond
	maxStartDelay   = 5 * time.Second // a try is cheap
	// blockedStarts is the number of consecutive failed starts after which predictions are refused instead of queued.
	blockedStarts = 4
)

// StartDelay returns how long to wait after that many consecutive failed starts.
func StartDelay(failed int) time.Duration {
	delay := firstStartDelay
	for i := 1; i < failed && delay < maxStartDelay; i++ {
		delay *= 2
	}
	return min(delay, maxStartDelay)
}

// IsShortage reports whether an error of the system may be temporary.
func IsShortage(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOSPC, syscall.EDQUOT,
		syscall.EINTR, syscall.ETXTBSY, syscall.EIO, syscall.ESTALE, syscall.ENOLCK, syscall.ETIMEDOUT, syscall.ENOTCONN,
	}, func(e error) bool { return errors.Is(err, e) })
}

// lackOf returns the system's error that a process has written about a shortage: its own, Go's, Python's or the dynamic
// linker's, or "" if none.
func lackOf(text string) string {
	text = strings.ToLower(text)
	for _, e := range []syscall.Errno{
		syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOSPC,
	} {
		if strings.Contains(text, e.Error()) {
			return e.Error()
		}
	}
	return ""
}

// startsAgain reports whether a failed start is tried again. A first start whose failure ends the server is tried again
// only after a shortage, because waiting does not help if a folder or program is missing.
func (s *Supervisor) startsAgain(err error) bool {
	switch {
	case s.o.Policy.Restart == Never:
		return false
	case IsShortage(err), errors.Is(err, errNotForked):
		return true
	default:
		return s.o.Policy.Linger && !s.hidesSetupFailure()
	}
}

const refusedThreads = "; the kernel refused a thread or process meanwhile, because the control group's pids.max is reached"

// isRefused reports whether the kernel has refused threads or processes since this worker, which is not ready, was
// started. Its setup may fail in any way then, and another worker is started as if it had never begun.
func (w *worker) isRefused() bool {
	return w.activity != duringPredict && !w.stopping && w.sup.o.Policy.Restart != Never &&
		w.sup.o.Fleet.pids.refusals() > w.refusals
}

// unstarted ends a worker that could not be started.
func (w *worker) unstarted(err error) {
	again := w.sup.startsAgain(err)
	if !again {
		w.sup.o.Logger.Error("worker not started", "worker", w.sup.o.Index, "error", err)
	}
	w.move(Exited, func(st *ProcessStatus) {
		if st.Setup.Logs = err.Error(); !again {
			st.Setup.Failed, st.Setup.Completed = true, time.Now()
		}
	})
	w.sup.change(func(st *Status) { st.LastExit, st.ExitedAt = err.Error(), time.Now() })
	w.ended <- outcome{cause: err.Error(), unstarted: again}
}
