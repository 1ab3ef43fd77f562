package grpc

import (
	"context"
	"fmt"
	"net"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"pinion/httpd/protocol"
)

// authorize requires a valid token.
func (s *Server) authorize(ctx context.Context, method string) error {
	if s.opt.Authorized == nil || public(method) {
		return nil
	}
	headers := metadata.ValueFromIncomingContext(ctx, "authorization")
	if len(headers) == 0 {
		return status.Error(codes.Unauthenticated,
			"This server requires a token: send the metadata authorization: Bearer TOKEN")
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || !s.opt.Authorized(strings.TrimSpace(token)) {
		return status.Error(codes.Unauthenticated, "The token in the metadata authorization is not valid for this server")
	}
	return nil
}

// mayControl reports whether a client, which has the token that it needs, may load and unload models.
func (s *Server) mayControl(ctx context.Context) bool {
	if s.opt.ControlFromAny || s.opt.Authorized != nil {
		return true
	}
	md, _ := metadata.FromIncomingContext(ctx)
	for key := range md {
		if protocol.Forwards([]byte(key)) {
			return false
		}
	}
	conn := connOf(ctx)
	if conn == nil {
		return false
	}
	client, ok := conn.Conn.RemoteAddr().(*net.TCPAddr)
	server, _ := conn.LocalAddr().(*net.TCPAddr)
	return ok && (client.IP.IsLoopback() || server != nil && client.IP.Equal(server.IP))
}

func (s *Server) interceptUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo,
	handle grpc.UnaryHandler,
) (resp any, err error) {
	call := callOf(ctx)
	call.handle()
	call.received()
	call.work(1)
	defer call.end()
	defer s.report(info.FullMethod, time.Now(), &err)
	if err := s.authorize(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	if err := sendPlain(ctx); err != nil {
		return nil, err
	}
	if resp, err = handle(ctx, req); err != nil {
		return nil, err
	}
	return chargedAnswer(ctx, resp)
}

// chargedAnswer encodes an answer that a handler has not encoded.
func chargedAnswer(ctx context.Context, msg any) (any, error) {
	m, ok := msg.(proto.Message)
	if !ok {
		return msg, nil
	}
	a, refused := encode(ctx, m)
	if refused != nil {
		return nil, failure(ctx, refused)
	}
	return a, nil
}

// sendPlain turns off compression for the answers of a call: gRPC would hold compressed ones, which nothing charges.
func sendPlain(ctx context.Context) error {
	from, ok := grpc.ServerTransportStreamFromContext(ctx).(transport)
	if !ok || from.RecvCompress() == "" {
		return nil
	}
	if err := grpc.SetSendCompressor(ctx, encoding.Identity); err != nil {
		return fmt.Errorf("choose the coding of answers: %w", err)
	}
	return nil
}

// chargedStream is a call whose answers are charged.
type chargedStream struct{ grpc.ServerStream }

func (s *chargedStream) SendMsg(msg any) error {
	a, err := chargedAnswer(s.Context(), msg)
	if err != nil {
		return err
	}
	return s.ServerStream.SendMsg(a)
}

func (s *Server) interceptStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	handle grpc.StreamHandler,
) (err error) {
	call := callOf(stream.Context())
	call.handle()
	defer call.end()
	defer s.report(info.FullMethod, time.Now(), &err)
	if err := s.authorize(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	if err := sendPlain(stream.Context()); err != nil {
		return err
	}
	stream, end := s.traced(&chargedStream{stream}, info.FullMethod)
	err = status.Error(codes.Internal, "the handler panicked") // unless it returns
	defer func() { end(err) }()
	err = handle(srv, stream)
	return err
}

// report recovers a panic of a handler and counts the call.
func (s *Server) report(method string, begun time.Time, err *error) {
	if v := recover(); v != nil {
		*err = status.Error(codes.Internal, "Internal Server Error")
		s.opt.Logger.Error("a gRPC handler panicked", "method", method, "panic", v, "stack", string(debug.Stack()))
	}
	if s.opt.OnCall != nil {
		s.opt.OnCall(method[strings.LastIndexByte(method, '/')+1:], status.Code(*err).String(), time.Since(begun))
	}
}
