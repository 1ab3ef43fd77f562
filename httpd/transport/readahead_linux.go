package transport

import "golang.org/x/sys/unix"

// A disconnect shows as the end of the received bytes. If the client has pipelined more requests, the end comes after
// them, and never arrives while they exceed the socket's buffers. So a watch reads them ahead, as far as the memory
// budget and Options.ReadAhead have room; beyond that it waits only for the end.
// aheadChunk is how many bytes are read at once.
const aheadChunk = 64 << 10

// readAhead reads what is in e's socket. n is how many bytes it read; full means that there is no room for more, open
// that the client has not ended its side. The caller has moved e to watchReading, so no other goroutine reads.
func (w *watcher) readAhead(e *Watch) (n int, full, open bool) {
	if w.buf == nil {
		w.buf = make([]byte, aheadChunk)
	}
	for {
		want := min(len(w.buf), w.maxEach-len(e.unread))
		if want <= 0 || !w.budget.Take(int64(want), int64(len(e.unread)+want)) {
			return n, true, true
		}
		k, err := unix.Read(int(e.fd), w.buf[:want])
		w.budget.Free(int64(want - max(0, k)))
		switch {
		case k > 0:
			e.unread = append(e.unread, w.buf[:k]...)
			n += k
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return n, false, true
		default: // the end, or an error, which the connection's next read returns too
			return n, false, false
		}
	}
}

// take moves bytes that were read ahead to p. Only the goroutine that serves e's connection calls it, while e is not
// watched.
func (w *watcher) take(e *Watch, p []byte) int {
	n := copy(p, e.unread)
	w.dropAhead(e, n)
	return n
}

// dropAhead drops n bytes of what was read ahead.
func (w *watcher) dropAhead(e *Watch, n int) {
	if n == 0 {
		return
	}
	if e.unread = e.unread[n:]; len(e.unread) == 0 {
		e.unread = nil
	}
	w.mu.Lock()
	w.readAheadBytes -= n
	w.mu.Unlock()
	w.budget.Free(int64(n))
}
