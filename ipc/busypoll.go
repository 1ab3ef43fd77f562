package ipc

import (
	"errors"
	"time"
)

// Busy-polling: a side that expects a frame soon polls its socket before it blocks. runtime/slot/busypoll.go says when,
// and what it gains; the worker's side is pyembed/channel_busypoll.c.

// RecvWhile is Recv again and again, until next, which it calls after each, returns false. It polls for up to budget
// before it blocks, and then for what next returns; blocked says whether nothing came in that time. While it polls, and
// while handle and next run, it does not see an Interrupt, and a Close waits for it.
func (c *Conn) RecvWhile(budget time.Duration, handle func(*Frame), next func(blocked bool) (budget time.Duration, again bool)) error {
	c.read.busyPoll, c.read.blocked = budget, false
	err := c.read.recv(handle, next)
	if err != nil && errors.Is(err, ErrInterrupted) {
		if err := c.file.SetReadDeadline(time.Time{}); err != nil {
			return ErrClosed
		}
	}
	return err
}

// once is a next that ends RecvWhile after one read.
func once(bool) (time.Duration, bool) { return 0, false }

// pollBusily polls until something has come; false means the budget was used up first.
func (rd *reader) pollBusily(fd uintptr) bool {
	if rd.busyPoll > 0 {
		for end := time.Now().Add(rd.busyPoll); time.Now().Before(end); {
			if rd.receive(fd) {
				return true
			}
		}
		rd.busyPoll = 0 // once
	}
	rd.blocked = true
	return false
}

// SetBusyPoll sets for how long the slot's worker may poll before it blocks; 0 means not at all.
func (s Slot) SetBusyPoll(budget time.Duration) { s.page.word(offBusyPoll).Store(uint64(budget)) }
