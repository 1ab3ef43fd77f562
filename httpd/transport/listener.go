package transport

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"time"
)

// errTooMany means that Options.Connections is reached, and no connection is idle.
var errTooMany = errors.New("too many connections")

// maxRejecting bounds the goroutines that refuse connections; beyond it connections are closed without an answer.
const maxRejecting = 64

// Connections without a place, which linger or are refused, are at most a besideShare of the limit, or minBeside.
const (
	besideShare = 8
	minBeside   = 16
)

// listener gives fasthttp the connections that the server adopted. It retries after temporary errors, because fasthttp
// ends at any error of Accept.
type listener struct {
	net.Listener
	t *Transport
}

func (l *listener) Accept() (net.Conn, error) {
	var pause time.Duration
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			switch {
			case l.t.closing.Load():
				return nil, io.EOF
			case !temporary(err):
				return nil, err
			}
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			l.t.log.Warn("cannot accept a connection; will try again", "error", err, "in", pause)
			select {
			case <-time.After(pause):
			case <-l.t.stop:
				return nil, io.EOF
			}
			continue
		}
		pause = 0
		c, err := l.t.Adopt(nc)
		switch {
		case err == nil:
			if l.t.parkFresh(c) {
				continue
			}
			return c, nil
		case errors.Is(err, errTooMany):
			l.t.reject(nc)
		default:
			nc.Close()
			return nil, err
		}
	}
}

// temporary reports whether an error of accept(2) concerns one connection, or a shortage that may end.
func temporary(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && slices.Contains([]syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EPERM, syscall.EPROTO,
	}, errno)
}

// reject answers a connection above the limit, on another goroutine.
func (t *Transport) reject(nc net.Conn) {
	t.conns.mu.Lock()
	overLimit := t.conns.rejecting >= t.maxRejecting
	if !overLimit {
		t.conns.rejecting++
	}
	t.conns.mu.Unlock()
	if overLimit {
		nc.Close()
		return
	}
	if t.opt.TLS != nil {
		nc = tls.Server(nc, t.opt.TLS)
	}
	go func() {
		_ = nc.SetDeadline(time.Now().Add(time.Second))
		if _, err := io.WriteString(nc, t.opt.TooMany); err == nil {
			drain(nc, time.Second, time.Second)
		}
		nc.Close()
		t.conns.mu.Lock()
		t.conns.rejecting--
		t.conns.mu.Unlock()
	}()
}
