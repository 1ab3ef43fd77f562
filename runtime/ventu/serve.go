package ventu

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"time"

	"pinion/runtime/connlimit"
)

// Serve takes in the workers that connect to ln until Close, then returns nil; any other end of ln is an error. It may
// be called once for each of several listeners.
func (q *Queue) Serve(ln net.Listener) error {
	q.mu.Lock()
	q.listeners = append(q.listeners, ln)
	if q.closed {
		ln.Close()
	}
	q.mu.Unlock()
	var pause time.Duration
	for {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			pause = 0
			if !q.enter() {
				conn.Close()
				return nil
			}
			go q.admit(conn)
		case errors.Is(err, net.ErrClosed) && errors.Is(q.Ready(), ErrClosed):
			return nil
		case !short(err):
			return fmt.Errorf("accept workers on %s: %w", ln.Addr(), err)
		default:
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			q.opt.Logger.Warn("cannot take a worker's connection; will try again", "error", err, "in", pause)
			time.Sleep(pause)
		}
	}
}

// admit serves a worker if the limit of connections has room for it.
func (q *Queue) admit(conn net.Conn) {
	var place connlimit.Place
	if l := q.opt.Connections; l != nil && !l.Enter(&place) {
		q.opt.Logger.Warn("refused a worker: too many connections", "limit", l.Stats().Limit)
		conn.Close()
		q.running.Done()
		return
	}
	defer place.Leave()
	q.serve(conn, &place)
}

// silent returns the connections that have not said that they are ready, for Options.Connections.
func (q *Queue) silent() (found []connlimit.Idle) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for w := range q.connected {
		if w.phase == workerFresh {
			found = append(found, connlimit.Idle{Since: w.since, Peer: connlimit.PeerOf(w.conn.RemoteAddr()), Conn: w})
		}
	}
	return found
}

// CloseIdle closes a connection that has not said that it is ready, and reports whether it did.
func (w *worker) CloseIdle() bool {
	w.q.mu.Lock()
	w.evicted = w.evicted || w.phase == workerFresh
	evicted := w.evicted
	w.q.mu.Unlock()
	if !evicted {
		return false
	}
	left := w.place.Leave() // first: the goroutine that serves it leaves too
	w.conn.Close()
	return left
}

// enter counts one more connection; false means the queue is closed.
func (q *Queue) enter() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.running.Add(1)
	}
	return !q.closed
}

// short reports whether an error of accept(2) concerns one connection, or a shortage that may end.
func short(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EPERM, syscall.EPROTO,
	}, func(e error) bool { return errors.Is(err, e) })
}
