package slot

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// batchTimer ends the waits of the batch queues. It is a timerfd: Go's own timers are up to a millisecond late in an
// idle process, and the waits are shorter than that. A nil timer never fires.
type batchTimer struct {
	fd      int
	file    *os.File
	firesAt time.Duration // since the dispatcher's origin; 0 means it is not set
}

// newBatchTimer starts a timer that calls fired, until it is stopped.
func newBatchTimer(fired func()) (*batchTimer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	t := &batchTimer{fd: fd, file: os.NewFile(uintptr(fd), "batch timer")}
	go func() {
		var expirations [8]byte
		for {
			if _, err := t.file.Read(expirations[:]); err != nil {
				return
			}
			fired()
		}
	}()
	return t, nil
}

// set makes the timer fire at that time; 0 means never. A timer that fires earlier is not changed: one needless look at
// the queues costs less than setting the timer with each arrival.
func (t *batchTimer) set(at, now time.Duration) {
	if t == nil || at == 0 && t.firesAt == 0 || at != 0 && now < t.firesAt && t.firesAt <= at {
		return
	}
	t.firesAt = at
	var spec unix.ItimerSpec
	if at != 0 {
		spec.Value = unix.NsecToTimespec(int64(max(1, at-now)))
	}
	_ = unix.TimerfdSettime(t.fd, 0, &spec, nil) // fails only for invalid values
}

func (t *batchTimer) stop() {
	if t != nil {
		t.file.Close()
	}
}
