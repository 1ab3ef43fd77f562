package ipc

import (
	"errors"
	"time"
)

// Busy-polling: a side that expects a frame soon polls its socket before it blocks. runtime/slot/busypoll.go says when,
// and what it gains; the worker's side is pyembed/channel_busypoll.c.

// RecvBusyPoll is Recv that polls for up to budget before it blocks; blocked reports whether nothing came in that time.
// While it polls, it does not see an Interrupt, and a Close waits for it.
func (c *Conn) RecvBusyPoll(budget time.Duration, handle func(*Frame)) (blocked bool, err error) {
	c.read.busyPoll, c.read.blocked = budget, false
	err = c.read.recv(handle)
	if err != nil && errors.Is(err, ErrInterrupted) {
		if err := c.file.SetReadDeadline(time.Time{}); err != nil {
			return c.read.blocked, ErrClosed
		}
	}
	return c.read.blocked, err
}

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
