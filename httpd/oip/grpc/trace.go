package grpc

import (
	"context"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "pinion/httpd/oip/grpc/inferencepb"

	"pinion/runtime/trace"
)

// traced begins the span of a call that makes predictions, and returns the stream that carries its trace to them. end
// is called with the call's error. The attributes are of OpenTelemetry's conventions for RPC, version 1.43.
func (s *Server) traced(stream grpc.ServerStream, method string) (_ grpc.ServerStream, end func(error)) {
	none := func(error) {}
	if s.opt.Tracer == nil || method != pb.GRPCInferenceService_ModelInfer_FullMethodName &&
		method != pb.GRPCInferenceService_ModelStreamInfer_FullMethodName {
		return stream, none
	}
	ctx := stream.Context()
	t := s.opt.Tracer.Begin(func(name string) string {
		return strings.Join(metadata.ValueFromIncomingContext(ctx, name),
			",")
	})
	if t == nil {
		return stream, none
	}
	name := strings.TrimPrefix(method, "/")
	span := t.Span(name, trace.Server, trace.SpanID{}, time.Now(),
		trace.Attrs{}.Text("rpc.system.name", "grpc").Text("rpc.method", name))
	t.Server = span.Context.Span
	return &tracedStream{stream, t.In(ctx)}, func(err error) {
		c := status.Code(err)
		text := code.Code(c).String()
		span.Attrs = span.Attrs.Text("rpc.response.status_code", text)
		switch c {
		case codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.Internal, codes.Unavailable, codes.DataLoss:
			span.Attrs = span.Attrs.Text("error.type", text)
			span.Failed, span.Message = true, status.Convert(err).Message()
		}
		t.End(span, time.Now())
	}
}

// tracedStream is a call with a trace in its context.
type tracedStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *tracedStream) Context() context.Context { return s.ctx }

// traceOf returns the trace of a message of a call: each prediction of a stream has its own span.
func traceOf(ctx context.Context) *trace.Trace { return trace.Of(ctx).Another() }
