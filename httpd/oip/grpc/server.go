package grpc

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/httpd/protocol"
	"pinion/runtime/connlimit"
	"pinion/runtime/memory"
	"pinion/runtime/trace"
)

// Options of a Server.
type Options struct {
	Models  protocol.Models
	Version string // the server's
	Logger  *slog.Logger
	// MaxMessage is the largest message in bytes.
	MaxMessage int64
	// TLS is spoken with clients; nil means none.
	TLS *tls.Config
	// Memory is charged for connections, calls, requests and answers; nil means nothing is.
	Memory *memory.Budget
	// Connections bounds the open connections; nil means no limit.
	Connections *connlimit.Limit
	// Silence is how long a client may send nothing of a message that it has begun, or of the first one of a call. Each
	// 4 KiB add a second. Default: 60 s.
	Silence time.Duration
	// StreamIdle is how long a sequence may be without a request. Default: 60 s.
	StreamIdle time.Duration
	// WriteTimeout ends a connection whose client takes nothing of an answer. Default: 60 s.
	WriteTimeout time.Duration
	// IdleTimeout ends a connection without calls. Default: 650 s, as of HTTP.
	IdleTimeout time.Duration
	// Authorized reports whether a bearer token is valid; nil means none is needed.
	Authorized func(token string) bool
	// ControlFromAny lets every client load and unload models. Default: programs on this machine, and clients with a
	// token.
	ControlFromAny bool
	// OnCall receives each answered call: its method ("ModelInfer"; "" means unknown), its code ("OK"), and how long it
	// took.
	OnCall func(method, code string, took time.Duration)
	// TenantHeader is the metadata that names a call's tenant; "" means all are of one.
	TenantHeader string
	// Tracer traces calls that make predictions; nil means they are not traced.
	Tracer *trace.Tracer
}

// Server answers gRPC. Its methods may be called from any goroutine.
type Server struct {
	opt      Options
	grpc     *grpc.Server
	closing  chan struct{} // closed by Shutdown
	shutdown sync.Once
	conns    conns
	watches  atomic.Int64 // Watch calls
	states   states

	uncharged, probes atomic.Int64 // connections, and calls of probes, that the memory budget had no room for
}

const (
	// maxStreams bounds the calls of one connection that are in flight. Each may hold a message of MaxMessage.
	maxStreams = 1000
	// connWindow lets a client send so much on a connection before the server has read it. A call's window stays gRPC's
	// 64 KiB: what arrives of a message before it is charged. It grows by what is read at once.
	connWindow = 4 << 20
	// maxOther is the largest message in bytes of any call that has no tensors. gRPC takes memory for it before it is
	// charged.
	maxOther = 64 << 10
	// pingTimeout is how long a silent client has to answer a ping.
	pingTimeout = 20 * time.Second
)

func (o Options) withDefaults() Options {
	o.Silence = cmp.Or(o.Silence, 60*time.Second)
	o.StreamIdle = cmp.Or(o.StreamIdle, 60*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 60*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 650*time.Second)
	return o
}

// New returns a server.
func New(o Options) *Server {
	o = o.withDefaults()
	s := &Server{opt: o, closing: make(chan struct{})}
	s.conns = conns{
		set: map[*conn]struct{}{}, every: min(time.Second, o.Silence/4, o.WriteTimeout/4),
		sweep: time.AfterFunc(time.Hour, s.sweep),
	}
	s.conns.sweep.Stop()
	if o.Connections != nil {
		o.Connections.Add(s.idle)
	}
	s.grpc = grpc.NewServer(
		grpc.ForceServerCodecV2(codec{encoding.GetCodecV2("proto")}),
		grpc.InTapHandle(s.enter),
		grpc.ConnectionTimeout(o.Silence),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.MaxRecvMsgSize(maxOther),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.StaticStreamWindowSize(callWindow),
		grpc.StaticConnWindowSize(connWindow),
		grpc.UnaryInterceptor(s.interceptUnary),
		grpc.StreamInterceptor(s.interceptStream),
		// Triton's clients may be told to ping this often.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
		// A client that stops within a frame answers no ping.
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: o.IdleTimeout, Time: o.Silence,
			Timeout: pingTimeout,
		}),
	)
	s.grpc.RegisterService(description(), &service{s: s})
	grpc_health_v1.RegisterHealthServer(s.grpc, &health{s: s})
	grpc_reflection_v1.RegisterServerReflectionServer(s.grpc, &reflection{server: s.grpc})
	return s
}

// description returns the service's description. ModelInfer is registered as a stream, which is the same to a client:
// only a stream's handler begins before its message has been read.
func description() *grpc.ServiceDesc {
	desc := pb.GRPCInferenceService_ServiceDesc
	desc.Methods = slices.DeleteFunc(slices.Clone(desc.Methods),
		func(m grpc.MethodDesc) bool { return m.MethodName == modelInfer })
	desc.Streams = append(slices.Clone(desc.Streams), grpc.StreamDesc{
		StreamName: modelInfer, ClientStreams: true,
		Handler: func(srv any, stream grpc.ServerStream) error { return srv.(*service).infer(stream) },
	})
	return &desc
}

const modelInfer = "ModelInfer"

// Serve answers the connections of ln until Shutdown, then returns nil.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.grpc.Serve(&listener{ln, s}); err != nil {
		return fmt.Errorf("serve gRPC on %s: %w", ln.Addr(), err)
	}
	return nil
}

// Shutdown accepts nothing more and waits until the calls in flight are answered. If ctx ends first it cancels them,
// and returns the context's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.shutdown.Do(func() { close(s.closing) })
	ended := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		s.grpc.Stop()
		<-ended
		return fmt.Errorf("wait for the calls in flight: %w", ctx.Err())
	}
}
