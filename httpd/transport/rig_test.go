package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/tests/assert"
)

// testTimeout only bounds a failing test.
const testTimeout = 60 * time.Second

// site is a server under test. A request whose path is /hold is answered when release is closed,
// and one whose path is /large with much.
type site struct {
	*Transport

	addr    string
	held    chan struct{} // gets each request that is held
	release chan struct{}
}

// serve starts a server on a loopback port and shuts it down with the test.
func serve(t *testing.T, o Options) *site {
	t.Helper()
	ln := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	if o.IdleTimeout == 0 {
		o.IdleTimeout = time.Minute
	}
	o.HeaderTimeout, o.WriteTimeout = time.Minute, time.Minute
	s := &site{New(o), ln.Addr().String(), make(chan struct{}, 16), make(chan struct{})}
	s.Use(&fasthttp.Server{
		Handler: s.handle, StreamRequestBody: true,
		ErrorHandler: func(ctx *fasthttp.RequestCtx, _ error) { refuse(ctx) },
	})
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		err := s.Shutdown(ctx)
		assert.True(t, err == nil, "shut down: got %v, want no error", err)
		err = <-done
		assert.True(t, err == nil, "serve: got %v, want no error", err)
	})
	return s
}

func (s *site) handle(ctx *fasthttp.RequestCtx) {
	c := ctx.Conn().(*Conn) //nolint:errcheck // all connections are
	c.Begin()
	if body := ctx.RequestBodyStream(); body != nil {
		if _, err := io.Copy(io.Discard, body); err != nil || !c.Whole() {
			refuse(ctx)
			return
		}
	}
	if string(ctx.Path()) == "/hold" {
		s.held <- struct{}{}
		<-s.release
	}
	if string(ctx.Path()) == "/large" {
		ctx.SetBody(make([]byte, 32<<20)) // more than the kernel's buffers
		return
	}
	ctx.SetBodyString("ok")
}

// refuse answers a request that cannot be read, with what is ambiguous about it.
func refuse(ctx *fasthttp.RequestCtx) {
	c := ctx.Conn().(*Conn) //nolint:errcheck // all connections are
	c.Linger()
	ctx.Error(string(c.FramingError()), fasthttp.StatusBadRequest)
	ctx.SetConnectionClose()
}

// client is one raw connection.
type client struct {
	net.Conn

	t  *testing.T
	br *bufio.Reader
}

func (s *site) dial(t *testing.T) *client {
	t.Helper()
	nc := assert.Must(net.Dial("tcp", s.addr))(t)
	t.Cleanup(func() { nc.Close() })
	if s.opt.TLS != nil {
		nc = tls.Client(nc, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // its own certificate
	}
	_ = nc.SetDeadline(time.Now().Add(testTimeout))
	return &client{nc, t, bufio.NewReader(nc)}
}

func (c *client) send(raw string) {
	c.t.Helper()
	_, err := io.WriteString(c.Conn, raw)
	assert.TrueNow(c.t, err == nil, "send: got %v, want no error", err)
}

// answer reads one answer.
func (c *client) answer() (*http.Response, string) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.br, nil)
	assert.NoError(c.t, err, "read an answer")
	body, err := io.ReadAll(resp.Body)
	assert.NoError(c.t, err, "read an answer's body")
	return resp, string(body)
}

// want reads one answer and compares its status.
func (c *client) want(status int) {
	c.t.Helper()
	resp, body := c.answer()
	assert.TrueNow(c.t, resp.StatusCode == status, "got status %d %s, want %d", resp.StatusCode, body, status)
}

// ended checks that the server closed the connection.
func (c *client) ended() {
	c.t.Helper()
	b, err := c.br.ReadByte()
	assert.TrueNow(c.t, err != nil, "got byte %q, want the end of the connection", b)
}
