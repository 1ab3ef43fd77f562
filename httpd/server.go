package httpd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/predict"
)

// readBuffer bounds a request's line and headers: authenticating proxies send some 10 KiB. Each connection in use has a
// buffer of this size, and touches only the pages it needs.
const readBuffer = 32 << 10

// Server answers HTTP for one Service, or several. Its methods may be called from any goroutine.
type Server struct {
	opt       Options
	log       *slog.Logger
	http      *fasthttp.Server
	route     fasthttp.RequestHandler
	root      *api                   // the default model
	models    atomic.Pointer[[]*api] // those below /models; the first is the default one
	jobs      bool                   // see NewJobs: answers are neither translated nor compressed
	protocols *protocols             // nil: none
	watcher   *watcher
	cors      *cors           // nil: off
	access    *access         // nil: off
	object    predict.Encoder // writes prediction objects

	deadlineTolerance time.Duration // how far a deadline may be off; see conn
	began             time.Time     // the zero of times that are stored as monotonic nanoseconds

	inflaters inflaters
	deflaters deflaters

	closing atomic.Bool
	stop    chan struct{} // closed when closing begins
	drained chan struct{} // closed when, after that, no connection is open

	conns     connTable
	parking   parking
	lingering atomic.Int32 // connections
}

// connTable has the server's connections. mu guards the other fields.
type connTable struct {
	many      atomic.Bool // more than parkAbove are open; written under mu
	crowded   atomic.Bool // if all had a request they could take half of the memory budget; written under mu
	mu        sync.Mutex
	open      map[*conn]struct{}
	listeners []net.Listener
	rejecting int // refused connections that are still being answered
	sweeping  bool
	sweeper   *time.Timer
	parkAbove int // see the constant
}

// New returns a server for svc, the default model.
func New(svc Service, o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		opt:               o,
		log:               o.Logger,
		watcher:           newWatcher(o.Logger, o.Memory),
		cors:              newCORS(o.CORSOrigins),
		access:            newAccess(o),
		deadlineTolerance: min(time.Second, o.HeaderTimeout/16, o.IdleTimeout/16),
		began:             time.Now(),
		stop:              make(chan struct{}),
		drained:           make(chan struct{}),
		conns:             connTable{open: make(map[*conn]struct{}), parkAbove: parkAbove},
		parking:           parking{by: make(map[int32]*conn), epoll: epoll{fd: -1}},
	}
	o.Connections.Add(s.idle)
	s.parking.serve = func(c net.Conn) { _ = s.http.ServeConn(c) }
	s.conns.sweeper = time.AfterFunc(time.Hour, s.sweep)
	s.conns.sweeper.Stop()
	s.root = s.newRoot(svc)
	s.SetModels(o.Models)
	s.protocols = newProtocols(s)
	s.route = s.routes().Handler
	s.http = &fasthttp.Server{
		Handler:            s.handle,
		ErrorHandler:       s.malformed,
		HeaderReceived:     s.headerReceived,
		ConnState:          connState,
		Logger:             quietLogger{o.Logger},
		MaxRequestBodySize: int(o.MaxBody),
		ReadTimeout:        o.HeaderTimeout,
		IdleTimeout:        o.IdleTimeout,
		ReadBufferSize:     readBuffer,
		// Our listener enforces the limit, so that a refused connection gets an answer in JSON.
		Concurrency: 2 * maxConnections,
		// Bodies are streamed: files go straight to disk. finishBody discards the rest.
		StreamRequestBody:            true,
		DisablePreParseMultipartForm: true,
		// The goroutines of parked connections end soon.
		MaxIdleWorkerDuration: 2 * time.Second,
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		SecureErrorLogMessage: true,
	}
	return s
}

// Serve answers the connections of ln until Shutdown, then returns nil; any other end of ln is an error. It may be
// called for several listeners.
func (s *Server) Serve(ln net.Listener) error {
	s.conns.mu.Lock()
	if s.closing.Load() {
		s.conns.mu.Unlock()
		ln.Close()
		return nil
	}
	if err := errors.Join(s.watcher.start(), s.parking.start()); err != nil {
		s.conns.mu.Unlock()
		ln.Close()
		return err
	}
	s.conns.listeners = append(s.conns.listeners, ln)
	s.conns.mu.Unlock()
	if err := s.http.Serve(&listener{Listener: ln, srv: s}); err != nil {
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	}
	return nil
}

// Shutdown stops accepting, closes idle connections, and waits until the requests in flight are answered and their
// connections closed. If ctx ends first it returns the context's error and leaves them open.
func (s *Server) Shutdown(ctx context.Context) error {
	s.conns.mu.Lock()
	if !s.closing.Swap(true) {
		close(s.stop)
		for _, ln := range s.conns.listeners {
			ln.Close()
		}
		if len(s.conns.open) == 0 {
			close(s.drained)
		}
	}
	var parked []*conn
	for c := range s.conns.open {
		if c.kill() {
			parked = append(parked, c)
		}
	}
	s.conns.mu.Unlock()
	for _, c := range parked {
		s.forget(c)
	}
	select {
	case <-s.drained:
		s.watcher.close()
		s.parking.close()
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the requests in flight: %w", ctx.Err())
	}
}

// adopt registers an accepted connection. The error is io.EOF while the server is closing, or errTooMany.
func (s *Server) adopt(nc net.Conn) (*conn, error) {
	c := newConn(s, nc)
	if !s.opt.Connections.Enter(&c.place) { // without the lock, which closing idle ones takes
		return nil, errTooMany
	}
	s.conns.mu.Lock()
	defer s.conns.mu.Unlock()
	if s.closing.Load() {
		c.place.Leave()
		return nil, io.EOF
	}
	s.conns.open[c] = struct{}{}
	s.countOpen()
	s.startSweeping()
	return c, nil
}

// countOpen notes how many connections are open. Called with the lock held.
func (s *Server) countOpen() {
	n := len(s.conns.open)
	s.conns.many.Store(n > s.conns.parkAbove)
	s.conns.crowded.Store(int64(n)*headCost > s.opt.Memory.Half())
}

// forget removes a closed connection.
func (s *Server) forget(c *conn) {
	s.conns.mu.Lock()
	defer s.conns.mu.Unlock()
	if _, known := s.conns.open[c]; !known {
		return
	}
	delete(s.conns.open, c)
	s.countOpen()
	c.place.Leave()
	if s.closing.Load() && len(s.conns.open) == 0 {
		close(s.drained)
	}
}

// quietLogger writes fasthttp's logs at debug level, because any client can cause them.
type quietLogger struct{ log *slog.Logger }

func (l quietLogger) Printf(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("http connection", "detail", predict.Clip(fmt.Sprintf(format, args...)))
	}
}
