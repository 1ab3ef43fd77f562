package state

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// flushWait bounds Flush.
const flushWait = time.Second

// Conn is a connection to NATS. It is being made in the background, and is made again whenever it is lost.
type Conn struct {
	tried   chan struct{} // closed when the first attempt has ended
	settled chan struct{} // closed when NATS has taken or refused this member, or the member left
	left    chan struct{} // closed by Close
	leave   func()
	NC      *nats.Conn // what was made, or
	err     error      // why NATS refused it
}

// Dial returns what connect makes. It is called again as long as NATS does not answer.
func Dial(connect func() (*nats.Conn, error)) *Conn {
	c := &Conn{tried: make(chan struct{}), settled: make(chan struct{}), left: make(chan struct{})}
	c.leave = sync.OnceFunc(func() { close(c.left) })
	go c.dial(connect)
	return c
}

func (c *Conn) dial(connect func() (*nats.Conn, error)) {
	tried := sync.OnceFunc(func() { close(c.tried) })
	defer tried()
	defer close(c.settled)
	for {
		nc, err := connect()
		if _, unanswered := errors.AsType[*UnansweredError](err); !unanswered {
			c.NC, c.err = nc, err
			return
		}
		tried()
		select {
		case <-time.After(connectPause + rand.N(connectPause)):
		case <-c.left:
			return
		}
	}
}

// Tried waits for the end of the first attempt, and returns why NATS refused it; nil also where NATS does not answer.
func (c *Conn) Tried(ctx context.Context) error {
	select {
	case <-c.tried:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-c.settled:
		return c.err
	default:
		return nil
	}
}

// Settled is closed when NATS has taken or refused this member, or the member left.
func (c *Conn) Settled() <-chan struct{} { return c.settled }

// Refused waits until NATS has taken or refused this member, or the member left, and returns why it is refused.
func (c *Conn) Refused() error {
	<-c.settled
	return c.err
}

// made returns the client's connection; nil means it is not made yet.
func (c *Conn) made() *nats.Conn {
	select {
	case <-c.settled:
		return c.NC
	default:
		return nil
	}
}

// IsConnected reports whether NATS can be asked.
func (c *Conn) IsConnected() bool { nc := c.made(); return nc != nil && nc.IsConnected() }

// OnError has f called with what NATS reports beside the end of the connection.
func (c *Conn) OnError(f func(error)) {
	if nc := c.made(); nc != nil {
		nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { f(err) })
	}
}

// IsDenied reports whether NATS reported that this user may not do something.
func IsDenied(err error) bool { return errors.Is(err, nats.ErrPermissionViolation) }

// Flush waits until NATS has what was published, for a second at most.
func (c *Conn) Flush() {
	if c.IsConnected() {
		_ = c.NC.FlushTimeout(flushWait)
	}
}

// Close closes the connection, which is then not reported as lost. It does not wait for one that is being made.
func (c *Conn) Close() {
	if c == nil {
		return
	}
	c.leave()
	quietly := func() {
		<-c.settled
		if c.NC != nil {
			c.NC.SetDisconnectErrHandler(nil)
			c.NC.Close()
		}
	}
	if c.made() == nil {
		go quietly()
		return
	}
	quietly()
}

// reconnectPause is the pause before a host's server is connected to again: it is started again at once.
const reconnectPause = 100 * time.Millisecond

// DialHost connects a member to the server of a folder, in the background.
func DialHost(at nats.CustomDialer, name string, changed func(lost error)) *Conn {
	return Dial(func() (*nats.Conn, error) {
		return nats.Connect("nats://embedded", append(Always(name, changed), nats.SetCustomDialer(at),
			nats.ReconnectWait(reconnectPause), nats.ReconnectJitter(0, 0))...)
	})
}

// DialOnce connects a command to the server of a folder that another process runs.
func DialOnce(ctx context.Context, at nats.CustomDialer, name string) (*Conn, error) {
	c := Dial(func() (*nats.Conn, error) {
		return nats.Connect("nats://embedded", nats.Name(name), nats.SetCustomDialer(at))
	})
	return c, c.Tried(ctx)
}

// CheckServer refuses a NATS that is too old.
func CheckServer(version string) error {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("the NATS server's version is %q", version)
	}
	if major < 2 || major == 2 && minor < 14 {
		return fmt.Errorf("the NATS server has version %s; the job queue needs %s or newer", version, oldestServer)
	}
	return nil
}

// Connected returns a connection that the client of NATS has made.
func Connected(nc *nats.Conn) *Conn {
	c := Dial(func() (*nats.Conn, error) { return nc, nil })
	<-c.tried
	return c
}
