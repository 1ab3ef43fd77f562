package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/connlimit"
	"pinion/runtime/memory"
)

// ReadBuffer bounds a request's line and headers: authenticating proxies send some 10 KiB. Each connection in use has a
// buffer of this size, and touches only the pages it needs.
const ReadBuffer = 32 << 10

// MaxConnections is the default limit of open connections, and the largest that fasthttp is told of.
const MaxConnections = 16384

// Options of a Transport. HeaderTimeout, IdleTimeout and WriteTimeout are those of httpd.Options.
type Options struct {
	HeaderTimeout, IdleTimeout, WriteTimeout time.Duration

	// Connections bounds the open connections, also those of other servers that share it. Default: 16384 connections.
	Connections *connlimit.Limit

	// TooMany is the whole answer to a connection beyond the limit.
	TooMany string

	// TLS is spoken with clients; nil means plain HTTP.
	TLS *tls.Config

	// Memory is charged for what is being received. Nil means no bound.
	Memory *memory.Budget

	// Logger receives what goes wrong with connections. The default is none.
	Logger *slog.Logger

	// ParkAbove is how many connections may be open before idle ones are parked: fewer hold too little memory. Default:
	// 256; negative means none.
	ParkAbove int
	// SweepInterval is the time between two looks for idle connections. One that was idle from one to the next is
	// parked. Default: 1 s.
	SweepInterval time.Duration
	// ReadAhead is how many bytes behind a request are read while its client is watched. Default: 8 MiB, which is more
	// than the kernel's limit for a client's send buffer; negative means none.
	ReadAhead int
}

func (o Options) withDefaults() Options {
	o.Connections = cmp.Or(o.Connections, connlimit.New(MaxConnections))
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.ParkAbove = max(0, cmp.Or(o.ParkAbove, 256))
	o.SweepInterval = cmp.Or(o.SweepInterval, time.Second)
	o.ReadAhead = max(0, cmp.Or(o.ReadAhead, 8<<20))
	return o
}

// Transport has the connections of one server. Its methods may be called from any goroutine.
type Transport struct {
	opt     Options
	log     *slog.Logger
	http    *fasthttp.Server
	watcher *watcher

	deadlineTolerance time.Duration // how far a deadline may be off; see Conn
	began             time.Time     // the zero of times that are stored as monotonic nanoseconds

	closing atomic.Bool
	stop    chan struct{} // closed when closing begins
	drained chan struct{} // closed when, after that, no connection is open

	conns     connTable
	parking   parking
	lingering atomic.Int32 // connections

	// How many connections without a place may be open: those that linger, and those that are refused.
	maxLingering, maxRejecting int32
}

// New returns a Transport. Use gives it the server of its requests.
func New(o Options) *Transport {
	o = o.withDefaults()
	beside := int32(max(minBeside, o.Connections.Stats().Limit/besideShare))
	t := &Transport{
		opt:               o,
		log:               o.Logger,
		watcher:           newWatcher(o.Logger, o.Memory, o.ReadAhead),
		deadlineTolerance: min(time.Second, o.HeaderTimeout/16, o.IdleTimeout/16),
		began:             time.Now(),
		stop:              make(chan struct{}),
		drained:           make(chan struct{}),
		conns:             connTable{open: make(map[*Conn]struct{})},
		parking:           parking{by: make(map[int32]*Conn), epoll: epoll{fd: -1}},
		maxLingering:      min(maxLingering, beside),
		maxRejecting:      min(maxRejecting, beside),
	}
	o.Connections.Add(t.Idle)
	t.parking.serve = func(c net.Conn) { _ = t.http.ServeConn(c) }
	t.conns.sweeper = time.AfterFunc(time.Hour, t.sweep)
	t.conns.sweeper.Stop()
	return t
}

// Use makes http serve the requests, and sets what depends on the connections.
func (t *Transport) Use(http *fasthttp.Server) {
	http.ConnState = connState
	http.ReadBufferSize = ReadBuffer
	// Our listener enforces the limit, so that a refused connection gets an answer.
	http.Concurrency = 2 * MaxConnections
	// The goroutines of parked connections end soon.
	http.MaxIdleWorkerDuration = 2 * time.Second
	t.http = http
}

// Closing reports whether Shutdown was called.
func (t *Transport) Closing() bool { return t.closing.Load() }

// Stopping is closed when Shutdown is called.
func (t *Transport) Stopping() <-chan struct{} { return t.stop }

// Serve answers the connections of ln until Shutdown, then returns nil; any other end of ln is an error. It may be
// called for several listeners.
func (t *Transport) Serve(ln net.Listener) error {
	t.conns.mu.Lock()
	if t.closing.Load() {
		t.conns.mu.Unlock()
		ln.Close()
		return nil
	}
	if err := errors.Join(t.watcher.start(), t.parking.start()); err != nil {
		t.conns.mu.Unlock()
		ln.Close()
		return err
	}
	t.conns.listeners = append(t.conns.listeners, ln)
	t.conns.mu.Unlock()
	if err := t.http.Serve(&listener{Listener: ln, t: t}); err != nil {
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	}
	return nil
}

// Shutdown stops accepting, closes idle connections, and waits until the requests in flight are answered and their
// connections closed. If ctx ends first it returns the context's error and leaves them open.
func (t *Transport) Shutdown(ctx context.Context) error {
	t.conns.mu.Lock()
	if !t.closing.Swap(true) {
		close(t.stop)
		for _, ln := range t.conns.listeners {
			ln.Close()
		}
		if len(t.conns.open) == 0 {
			close(t.drained)
		}
	}
	var parked []*Conn
	for c := range t.conns.open {
		if c.kill() {
			parked = append(parked, c)
		}
	}
	t.conns.mu.Unlock()
	for _, c := range parked {
		t.forget(c)
	}
	select {
	case <-t.drained:
		t.watcher.close()
		t.parking.close()
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the requests in flight: %w", ctx.Err())
	}
}

// Adopt registers an accepted connection, which Close removes. The error is io.EOF while the server is closing, or
// errTooMany.
func (t *Transport) Adopt(nc net.Conn) (*Conn, error) {
	c := newConn(t, nc)
	if !t.opt.Connections.Enter(&c.place) { // without the lock, which closing idle ones takes
		return nil, errTooMany
	}
	t.conns.mu.Lock()
	defer t.conns.mu.Unlock()
	if t.closing.Load() {
		c.place.Leave()
		return nil, io.EOF
	}
	t.conns.open[c] = struct{}{}
	t.countOpen()
	t.startSweeping()
	return c, nil
}

// Stats counts connections and watches.
type Stats struct {
	Open      int
	Parked    int // without a goroutine
	Armed     int // watches in the epoll set
	ReadAhead int // bytes that were read behind the requests of watched clients
}

// Stats returns the present counts.
func (t *Transport) Stats() (s Stats) {
	t.conns.mu.Lock()
	s.Open = len(t.conns.open)
	t.conns.mu.Unlock()
	t.parking.mu.Lock()
	s.Parked = len(t.parking.by)
	t.parking.mu.Unlock()
	t.watcher.mu.Lock()
	s.Armed, s.ReadAhead = len(t.watcher.armed), t.watcher.readAheadBytes
	t.watcher.mu.Unlock()
	return s
}
