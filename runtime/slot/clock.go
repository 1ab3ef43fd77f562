package slot

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// clock has a pool's lines looked at when their wait is over. Go's own timers are up to a millisecond late where a
// process has nothing else to do, and waits are shorter than that. A nil clock never rings.
type clock struct {
	fd   int
	file *os.File
	set  time.Duration // when it rings; 0: it does not
}

// newClock starts a clock that calls ring, until it is stopped.
func newClock(ring func()) (*clock, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	c := &clock{fd: fd, file: os.NewFile(uintptr(fd), "clock of batches")}
	go func() {
		var ticks [8]byte
		for {
			if _, err := c.file.Read(ticks[:]); err != nil {
				return
			}
			ring()
		}
	}()
	return c, nil
}

// ring has it ring at a moment, at is now; 0: not at all. Where it rings before that it is left alone: the lines are then
// looked at once too often, and it is set again, which costs less than to set it with each arrival. Called with the pool's
// lock held.
func (c *clock) ring(moment, at time.Duration) {
	if c == nil || moment == 0 && c.set == 0 || moment != 0 && at < c.set && c.set <= moment {
		return
	}
	c.set = moment
	var spec unix.ItimerSpec
	if moment != 0 {
		spec.Value = unix.NsecToTimespec(int64(max(1, moment-at)))
	}
	_ = unix.TimerfdSettime(c.fd, 0, &spec, nil) // fails only for values that are none
}

// stop ends the clock.
func (c *clock) stop() {
	if c != nil {
		c.file.Close()
	}
}
