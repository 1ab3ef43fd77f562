package httpd

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"pinion/httpd/access"
	"pinion/httpd/answers"
	"pinion/httpd/body"
	"pinion/httpd/native"
	"pinion/httpd/place"
	"pinion/httpd/protocol"
	"pinion/httpd/transport"
	"pinion/runtime/logtext"
)

// Server answers HTTP for one Service, or several. Its methods may be called from any goroutine.
type Server struct {
	opt       Options
	route     fasthttp.RequestHandler
	root      *api                   // the default model
	models    atomic.Pointer[[]*api] // those below /models; the first is the default one
	protocols *protocols             // nil means none
	transport *transport.Transport
	guard     *access.Guard
	out       *answers.Writer
	bodies    *body.Reader
	front     *native.Front
	busy      place.BusyLog
}

// New returns a server. route is that of the default model.
func New(route place.Route, o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		opt:       o,
		transport: transport.New(o.transport()),
	}
	s.out = &answers.Writer{
		MaxBody: o.MaxBody, Memory: o.Memory, Transport: s.transport, Log: o.Logger, Help: o.Help, Silence: o.StreamComment,
		Access: access.NewLog(o.Logger, o.AccessLines, o.AccessProbes, o.AccessText),
	}
	s.busy.To = o.Logger
	s.bodies = &body.Reader{MaxBody: o.MaxBody, Memory: o.Memory, Spool: o.Spool, Stopping: s.transport.Stopping()}
	s.front = &native.Front{
		Out: s.out, Bodies: s.bodies, StreamIdle: o.StreamIdle, Tracer: o.Tracer, TenantHeader: o.TenantHeader,
	}
	s.root = s.newRoot(route)
	s.SetModels(o.Models)
	s.protocols = newProtocols(s)
	s.guard = access.NewGuard(access.Guard{
		Tokens: o.Tokens, Public: o.Public, AllowedHosts: o.AllowedHosts, ControlFromAny: o.ControlFromAny, Jobs: o.jobs,
		Help: s.out.WithHelp, IsProbe: s.protocols.isProbe, IsSigned: s.protocols.isSigned, Within: s.within,
	}, o.CORSOrigins, corsExposed)
	s.route = s.routes().Handler
	s.transport.Use(&fasthttp.Server{
		Handler:            s.handle,
		ErrorHandler:       s.malformed,
		HeaderReceived:     s.headerReceived,
		Logger:             quietLogger{o.Logger},
		MaxRequestBodySize: int(o.MaxBody),
		// Bodies are streamed: files go straight to disk. finishBody discards the rest.
		StreamRequestBody:            true,
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		SecureErrorLogMessage:        true,
	})
	return s
}

// NewMonitor returns a server that answers only probes, Options.Metrics and Options.Dashboard, and those of
// Options.Models, and requires no token. It is for a separate port that only monitoring can reach.
func NewMonitor(route place.Route, o Options) *Server {
	o.Tokens, o.monitors = nil, true
	s := New(route, o)
	r := s.root.newRouteTable()
	r.monitoring()
	if o.Models != nil {
		r.router.ANY(pathModel+"/{rest:*}", s.routeModel)
	}
	s.route = r.router.Handler
	return s
}

// corsExposed are the headers of answers that pages of other origins may read.
const corsExposed = "Content-Disposition, Retry-After, " + answers.HeaderID + ", " + answers.HeaderMetrics + ", " +
	answers.HeaderRetry + ", " +
	access.HeaderRequestID + ", " + protocol.HeaderWarning

// Serve answers the connections of ln until Shutdown, then returns nil; any other end of ln is an error. It may be
// called for several listeners.
func (s *Server) Serve(ln net.Listener) error { return s.transport.Serve(ln) }

// Shutdown stops accepting, closes idle connections, and waits until the requests in flight are answered and their
// connections closed. If ctx ends first it returns the context's error and leaves them open.
func (s *Server) Shutdown(ctx context.Context) error { return s.transport.Shutdown(ctx) }

// transport returns the options of the server's connections.
func (o Options) transport() transport.Options {
	c := o.conns
	c.HeaderTimeout, c.IdleTimeout, c.WriteTimeout = o.HeaderTimeout, o.IdleTimeout, o.WriteTimeout
	c.Connections, c.TooMany, c.Memory, c.Logger, c.TLS = o.Connections, tooManyAnswer, o.Memory, o.Logger, o.TLS
	return c
}

// tooManyAnswer is the answer to a connection above the limit.
const tooManyAnswer = "HTTP/1.1 503 Service Unavailable\r\n" +
	"Content-Type: application/json\r\nContent-Length: 33\r\nConnection: close\r\n" +
	answers.HeaderRetry + ": " + answers.Elsewhere + "\r\n\r\n" +
	`{"detail":"Too many connections"}`

// quietLogger writes fasthttp's logs at debug level, because any client can cause them.
type quietLogger struct{ log *slog.Logger }

func (l quietLogger) Printf(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("http connection", "detail", logtext.Clip(fmt.Sprintf(format, args...)))
	}
}
