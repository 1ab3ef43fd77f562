package transport

import (
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// errSwitched ends fasthttp's reads of a connection that has switched protocols.
const errSwitched FramingError = "the connection has switched protocols"

// Switch lets a connection speak another protocol (RFC 9110, section 7.8). Once the handler has returned, serve is called
// in a goroutine of its own, with what the client has sent ahead, and nothing is left of fasthttp. serve writes the
// answer to the request, and closes the connection. The connection keeps its place, and counts as one with a request in
// flight. false means that it is not of this transport.
func (t *Transport) Switch(ctx *fasthttp.RequestCtx, serve func(c *Conn, ahead []byte)) bool {
	c, ok := ctx.Conn().(*Conn)
	if !ok {
		return false
	}
	ctx.SetStatusCode(fasthttp.StatusSwitchingProtocols)
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(nc net.Conn) {
		c.framing.err = errSwitched // reads now return only what fasthttp has
		ahead, _ := io.ReadAll(nc)
		c.readSet, c.writeSet = 0, 0 // fasthttp has removed the deadlines
		c.switched = func() { serve(c, ahead) }
	})
	return true
}

// Stop is closed when the connection's server is told to stop.
func (c *Conn) Stop() <-chan struct{} { return c.t.stop }

// ReadAside has run read the connection in a goroutine of its own. target is canceled once run has reported that the client
// has left, or the client leaves after it. end ends the reads, and waits for the goroutine.
func (c *Conn) ReadAside(run func(stop <-chan struct{}) (more bool), target Canceler) (end func()) {
	f := &feed{c: c, run: run, stopping: make(chan struct{}), done: make(chan struct{})}
	c.watch.feed = f
	f.start(target)
	return f.stop
}

// Receive reads a connection that has switched protocols, under the deadline of ReadWithin. within means that a message
// has begun, so that its client may be cut while connections are short; each byte extends the deadline.
func (c *Conn) Receive(p []byte, within bool) (int, error) {
	if within {
		c.receiving.Store(int64(c.readWanted))
		defer c.receiving.Store(0)
	}
	n, err := c.read(p)
	if within {
		c.readWanted += time.Duration(n) * time.Second / bodyRate
	}
	return n, err
}
