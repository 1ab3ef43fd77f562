package httpd

import "golang.org/x/sys/unix"

// A client that leaves is noticed by the end of its bytes. Where it has sent another request behind the one that is carried
// out, that end lies behind those bytes, and where they do not fit into the socket's buffers it never arrives. So a
// watch reads them ahead, as far as the memory budget has room; beyond that it waits for the end alone.
const (
	mostAhead  = 8 << 20 // bytes of one connection: more than the kernel lets a client's own buffer grow to
	aheadPiece = 64 << 10
)

// readAhead takes what lies in e's socket, and tells how much that is; full: there is no room for more. The caller has moved
// e to watchReading, so nobody else reads there. open: the client has not ended its side.
func (w *watcher) readAhead(e *watch) (n int, full, open bool) {
	if w.piece == nil {
		w.piece = make([]byte, aheadPiece)
	}
	for {
		want := min(len(w.piece), w.mostEach-len(e.ahead))
		if want <= 0 || !w.budget.Take(int64(want), int64(len(e.ahead)+want)) {
			return n, true, true
		}
		k, err := unix.Read(int(e.fd), w.piece[:want])
		w.budget.Free(int64(want - max(0, k)))
		switch {
		case k > 0:
			e.ahead = append(e.ahead, w.piece[:k]...)
			n += k
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return n, false, true
		default: // the end, or an error, which the connection's next read finds as well
			return n, false, false
		}
	}
}

// take moves bytes that were read ahead of a request to p. Only the goroutine that serves e's connection calls it, while
// e is not watched.
func (w *watcher) take(e *watch, p []byte) int {
	n := copy(p, e.ahead)
	w.dropAhead(e, n)
	return n
}

// dropAhead gives up so many bytes of what was read ahead.
func (w *watcher) dropAhead(e *watch, n int) {
	if n == 0 {
		return
	}
	if e.ahead = e.ahead[n:]; len(e.ahead) == 0 {
		e.ahead = nil
	}
	w.mu.Lock()
	w.ahead -= n
	w.mu.Unlock()
	w.budget.Free(int64(n))
}
