package transport

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// secured is TLS over the socket of a Conn. Deadlines, the watch, parking and the end are those of the socket: what is
// read ahead is encrypted, and a kill never waits for the client.
type secured struct {
	*tls.Conn
	c       *Conn
	greeted bool // the handshake has ended
	broken  bool // a write has failed
}

// secure puts TLS over the connection's socket.
func (c *Conn) secure(config *tls.Config) {
	s := &secured{c: c}
	s.Conn = tls.Server(underTLS{c.Conn, s}, config)
	c.stream = s
	_ = c.Conn.SetWriteDeadline(time.Now().Add(c.t.opt.HeaderTimeout)) // of the handshake; fails once it is closed
}

// isSecured reports whether the client speaks TLS.
func (c *Conn) isSecured() bool {
	_, is := c.stream.(*secured)
	return is
}

// Read reads what was decrypted. A failed handshake is the end: nothing of HTTP can be answered.
func (s *secured) Read(p []byte) (int, error) {
	if !s.greeted {
		if err := s.Handshake(); err != nil {
			if plain, is := errors.AsType[tls.RecordHeaderError](err); is && plain.Conn != nil {
				_, _ = io.WriteString(plain.Conn, plainAnswer)
			}
			s.c.t.log.Debug("a TLS handshake failed", "client", s.c.RemoteAddr().String(), "error", err)
			return 0, io.EOF
		}
		s.greeted = true
	}
	return s.Conn.Read(p)
}

// plainAnswer is the answer to a client that speaks HTTP without TLS, or something else.
const plainAnswer = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" +
	`{"detail":"This port speaks TLS: begin the address with https://"}`

func (s *secured) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	s.broken = s.broken || err != nil
	return n, err
}

// sayEnd tells a client that still reads that no more comes, so that it can tell the end from a cut.
func (s *secured) sayEnd() {
	if s.greeted && !s.broken && !s.c.slow.Load() && !s.c.is(connClosed) {
		_ = s.CloseWrite()
	}
}

// underTLS is the socket as TLS reads it: first what was read ahead.
type underTLS struct {
	net.Conn
	s *secured
}

func (u underTLS) Read(p []byte) (int, error) {
	c := u.s.c
	if len(c.watch.unread) > 0 {
		return c.t.watcher.take(&c.watch, p), nil
	}
	n, err := u.Conn.Read(p)
	for n == 0 && err != nil && !u.s.greeted && c.wasWoken(err) { // the error would end the handshake
		if err = u.Conn.SetReadDeadline(c.t.began.Add(c.readWanted)); err == nil {
			n, err = u.Conn.Read(p)
		}
	}
	return n, err
}
