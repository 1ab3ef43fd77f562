package ipc

// RecvUnsent passes the frames that a dead worker had queued in this channel and not sent to handle. They are in the
// shared page. Call it when Recv has returned ErrClosed, and before the page is closed.
func (c *Conn) RecvUnsent(s Slot, handle func(*Frame)) error {
	rest := s.unsent(c.read.total)
	for len(rest) > 0 {
		n := copy(c.read.room(), rest)
		rest = rest[n:]
		c.read.n = n
		c.read.total += uint64(n)
		if err := c.read.took(handle); err != nil {
			return err
		}
	}
	return nil
}
