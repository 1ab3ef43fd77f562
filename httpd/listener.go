package httpd

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// errTooMany: Options.Concurrency connections are open.
var errTooMany = errors.New("too many connections")

// tooManyAnswer is what the connection above the limit is told.
const tooManyAnswer = "HTTP/1.1 503 Service Unavailable\r\n" +
	"Content-Type: application/json\r\nContent-Length: 33\r\nConnection: close\r\n" +
	headerRetry + ": " + elsewhere + "\r\n\r\n" +
	`{"detail":"Too many connections"}`

// maxRejecting bounds the goroutines that refuse connections; above it they are just closed.
const maxRejecting = 64

// listener hands fasthttp connections that the server has adopted, and survives what is no reason to
// stop serving: fasthttp takes any error of Accept for the end.
type listener struct {
	net.Listener
	srv *Server
}

func (l *listener) Accept() (net.Conn, error) {
	var pause time.Duration
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			switch {
			case l.srv.closing.Load():
				return nil, io.EOF
			case !passing(err):
				return nil, err
			}
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			l.srv.log.Warn("cannot accept a connection; will try again", "error", err, "in", pause)
			select {
			case <-time.After(pause):
			case <-l.srv.stop:
				return nil, io.EOF
			}
			continue
		}
		pause = 0
		c, err := l.srv.adopt(nc)
		switch err {
		case nil:
			return c, nil
		case errTooMany:
			l.srv.reject(nc)
		default:
			nc.Close()
			return nil, err
		}
	}
}

// passing tells whether an error of accept(2) concerns one connection, or a shortage that may end.
func passing(err error) bool {
	for _, e := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EPERM, syscall.EPROTO,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// reject tells a connection that there is no room, without holding up the next one.
func (s *Server) reject(nc net.Conn) {
	s.mu.Lock()
	crowded := s.rejecting >= maxRejecting
	if !crowded {
		s.rejecting++
	}
	s.mu.Unlock()
	if crowded {
		nc.Close()
		return
	}
	go func() {
		nc.SetWriteDeadline(time.Now().Add(time.Second))
		if _, err := io.WriteString(nc, tooManyAnswer); err == nil {
			drain(nc, time.Second, time.Second)
		}
		nc.Close()
		s.mu.Lock()
		s.rejecting--
		s.mu.Unlock()
	}()
}
