package oipgrpc

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	pb "pinion/httpd/oipgrpc/inferencepb"
	"pinion/httpd/protocol"
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
	// Memory is charged for requests while they are served; nil: nothing is.
	Memory *memory.Budget
	// Authorized reports whether a bearer token is valid; nil: none is needed.
	Authorized func(token string) bool
	// OnCall receives each answered call: its method ("ModelInfer"; "": unknown), its code ("OK"), and how long it took.
	OnCall func(method, code string, took time.Duration)
	// Tracer traces calls that make predictions; nil: they are not traced.
	Tracer *trace.Tracer
}

// Server answers gRPC. Its methods may be called from any goroutine.
type Server struct {
	opt      Options
	grpc     *grpc.Server
	closing  chan struct{} // closed by Shutdown
	shutdown sync.Once
}

const (
	// maxStreams bounds the calls of one connection that are in flight. Each may hold a message of MaxMessage.
	maxStreams = 1000
	// readWindow lets a client send so much before the server has read it. gRPC's own 64 KiB make tensors of a megabyte wait
	// for the client several times.
	readWindow = 1 << 20
	// maxOther is the largest message in bytes of any call that has no tensors. gRPC takes memory for it before it is charged.
	maxOther = 64 << 10
)

// New returns a server.
func New(o Options) *Server {
	s := &Server{opt: o, closing: make(chan struct{})}
	s.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxOther),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.InitialWindowSize(readWindow),
		grpc.InitialConnWindowSize(4*readWindow),
		grpc.UnaryInterceptor(s.interceptUnary),
		grpc.StreamInterceptor(s.interceptStream),
		// Triton's clients may be told to ping this often.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	)
	s.grpc.RegisterService(description(), &service{Server: s})
	grpc_health_v1.RegisterHealthServer(s.grpc, &health{Server: s})
	grpc_reflection_v1.RegisterServerReflectionServer(s.grpc, &reflection{server: s.grpc})
	return s
}

// description is the service's. ModelInfer is registered as a stream, which is the same to a client: only a stream's handler
// begins before its message has been read.
func description() *grpc.ServiceDesc {
	desc := pb.GRPCInferenceService_ServiceDesc
	desc.Methods = slices.DeleteFunc(slices.Clone(desc.Methods), func(m grpc.MethodDesc) bool { return m.MethodName == modelInfer })
	desc.Streams = append(slices.Clone(desc.Streams), grpc.StreamDesc{
		StreamName: modelInfer, ClientStreams: true,
		Handler: func(srv any, stream grpc.ServerStream) error { return srv.(*service).infer(stream) },
	})
	return &desc
}

const modelInfer = "ModelInfer"

// Serve answers the connections of ln until Shutdown, then returns nil.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.grpc.Serve(ln); err != nil {
		return fmt.Errorf("serve gRPC on %s: %w", ln.Addr(), err)
	}
	return nil
}

// Shutdown accepts nothing more and waits until the calls in flight are answered. If ctx ends first it cancels them, and
// returns the context's error.
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
