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

// readBuffer bounds a request's line and headers: proxies that tell who somebody is send some 10 KiB. A connection in use has as
// much memory, of which it touches what it needs.
const readBuffer = 32 << 10

// Server answers HTTP for one Service. Its methods may be called from any goroutine.
type Server struct {
	svc    Service
	opt    Options
	log    *slog.Logger
	http   *fasthttp.Server
	route  fasthttp.RequestHandler
	gone   *watcher
	cors   *cors           // nil: off
	access *access         // nil: off
	object predict.Encoder // writes prediction objects

	completed atomic.Pointer[completed] // the OpenAPI document; nil: nobody has asked

	slack time.Duration // how far a deadline may be off; see conn
	began time.Time     // from which moments are counted that are kept as numbers: by no clock that may be set

	inflaters inflaters
	deflaters deflaters

	closing atomic.Bool
	stop    chan struct{} // closed when closing begins
	drained chan struct{} // closed when, after that, no connection is left

	mu        sync.Mutex
	conns     map[*conn]struct{} // every open connection
	listeners []net.Listener
	rejecting int // refused connections that are still being told so
	sweeping  bool
	sweeper   *time.Timer
	parkAbove int // see the constant

	parking parking
}

// New makes a server for svc.
func New(svc Service, o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		svc:     svc,
		opt:     o,
		log:     o.Logger,
		gone:    newWatcher(o.Logger, o.Memory),
		cors:    newCORS(o.CORSOrigins),
		access:  newAccess(o),
		slack:   min(time.Second, o.HeaderTimeout/16, o.IdleTimeout/16),
		began:   time.Now(),
		stop:    make(chan struct{}),
		drained: make(chan struct{}),
		conns:   make(map[*conn]struct{}),

		parkAbove: parkAbove,
		parking:   parking{by: make(map[int32]*conn), epfd: -1},
	}
	s.parking.serve = func(c net.Conn) { _ = s.http.ServeConn(c) } // as of all connections, its error says nothing new
	s.sweeper = time.AfterFunc(time.Hour, s.sweep)
	s.sweeper.Stop()
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
		// Our listener counts, so that the one too many gets an answer in JSON.
		Concurrency: 2 * o.Concurrency,
		// Bodies go from the connection to where they belong: files to disk. finishBody minds what is left.
		StreamRequestBody:            true,
		DisablePreParseMultipartForm: true,
		// The goroutines of connections that were parked are not kept for long.
		MaxIdleWorkerDuration: 2 * time.Second,
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		SecureErrorLogMessage: true,
	}
	return s
}

// Serve answers the connections of ln until Shutdown, then returns nil; any other end of ln is an
// error. It may be called once for each of several listeners.
func (s *Server) Serve(ln net.Listener) error {
	s.mu.Lock()
	if s.closing.Load() {
		s.mu.Unlock()
		ln.Close()
		return nil
	}
	if err := errors.Join(s.gone.start(), s.parking.start()); err != nil {
		s.mu.Unlock()
		ln.Close()
		return err
	}
	s.listeners = append(s.listeners, ln)
	s.mu.Unlock()
	if err := s.http.Serve(&listener{Listener: ln, srv: s}); err != nil {
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	}
	return nil
}

// Shutdown stops accepting, closes the connections that have nothing under way, and waits until the
// requests in flight have been answered and their connections closed. Where ctx ends first it returns
// the context's error and leaves them as they are.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.closing.Swap(true) {
		close(s.stop)
		for _, ln := range s.listeners {
			ln.Close()
		}
		if len(s.conns) == 0 {
			close(s.drained)
		}
	}
	var parked []*conn
	for c := range s.conns {
		if c.kill() {
			parked = append(parked, c)
		}
	}
	s.mu.Unlock()
	for _, c := range parked {
		s.forget(c)
	}
	select {
	case <-s.drained:
		s.gone.close()
		s.parking.close()
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the requests in flight: %w", ctx.Err())
	}
}

// adopt enters a connection that was accepted. io.EOF: the server is closing. errTooMany: it is full.
func (s *Server) adopt(nc net.Conn) (*conn, error) {
	c := newConn(s, nc)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return nil, io.EOF
	}
	if len(s.conns) >= s.opt.Concurrency {
		return nil, errTooMany
	}
	s.conns[c] = struct{}{}
	s.mind()
	return c, nil
}

// forget takes out a connection that was closed.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.conns[c]; !known {
		return
	}
	delete(s.conns, c)
	if s.closing.Load() && len(s.conns) == 0 {
		close(s.drained)
	}
}

// quietLogger receives what fasthttp logs. Any stranger can cause it, so it stays at debug level.
type quietLogger struct{ log *slog.Logger }

func (l quietLogger) Printf(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("http connection", "detail", predict.Clip(fmt.Sprintf(format, args...)))
	}
}
