package oipgrpc

import (
	"bytes"
	"context"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	pb "pinion/httpd/oipgrpc/inferencepb"

	"pinion/httpd/oip"
	"pinion/httpd/protocol"
)

// inference is a request that has been read.
type inference struct {
	*oip.Request
	model     *protocol.Model
	signature *protocol.Signature
	shape     oip.Rows
	id        string
	run       *protocol.Run
}

// begin reads a message and creates its predictions. The caller releases the run.
func (s *Server) begin(ctx context.Context, msg *pb.ModelInferRequest, stream bool) (*inference, *protocol.Error) {
	m, signature, err := s.model(msg.GetModelName(), msg.GetModelVersion())
	if err != nil {
		return nil, err
	}
	in := &inference{model: m, signature: signature, id: msg.GetId()}
	if in.Request, err = request(msg); err != nil {
		return nil, err
	}
	body, err := s.charge(proto.Size(msg))
	if err != nil {
		return nil, err
	}
	c, shape, err := in.Call(m, signature)
	if err != nil {
		body.Release()
		return nil, err
	}
	c.Body, c.Stream, in.shape = body, stream && signature.Iterator, shape
	c.RequestID, c.TraceParent = first(ctx, "x-request-id"), first(ctx, "traceparent")
	if c.TraceParent != "" {
		c.TraceState = first(ctx, "tracestate")
	}
	in.run, err = m.Begin(c)
	return in, err
}

// memoryWait is how long a message may wait for room in the memory budget.
const memoryWait = 10 * time.Second

// charge charges a message to the memory budget.
func (s *Server) charge(size int) (protocol.Body, *protocol.Error) {
	n := int64(size)
	if err := s.opt.Memory.Wait(n, memoryWait, s.closing); err != nil {
		return protocol.Body{}, protocol.ErrorOf(err)
	}
	return protocol.NewBody(nil, n, nil, s.opt.Memory.Free), nil
}

const maxHeader = 200 // bytes

// first is the first value of a metadata key that is short and printable, or "".
func first(ctx context.Context, key string) string {
	for _, value := range metadata.ValueFromIncomingContext(ctx, key) {
		for i := range len(value) {
			if value[i] < ' ' || value[i] > '~' {
				return ""
			}
		}
		if len(value) <= maxHeader {
			return value
		}
	}
	return ""
}

// watch cancels a run if ctx ends before stop is called.
func watch(ctx context.Context, run *protocol.Run) (stop func()) {
	canceled := make(chan struct{})
	off := context.AfterFunc(ctx, func() {
		defer close(canceled)
		run.Cancel()
		run.Wake()
	})
	return func() {
		if !off() {
			<-canceled
		}
	}
}

// ModelInfer answers one request with the tensors of its predictions.
func (s *service) ModelInfer(ctx context.Context, msg *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	in, err := s.begin(ctx, msg, false)
	if err != nil {
		return nil, failure(ctx, err)
	}
	out, err := in.wait(ctx)
	if err != nil {
		return nil, failure(ctx, err)
	}
	return out, nil
}

// wait carries the predictions out and releases them.
func (in *inference) wait(ctx context.Context) (*pb.ModelInferResponse, *protocol.Error) {
	defer in.run.Release()
	stop := watch(ctx, in.run)
	answers, err := in.run.Wait()
	stop()
	if err != nil {
		return nil, err
	}
	tensors, err := in.Answered(in.signature, in.shape, answers.List)
	if err != nil {
		return nil, err
	}
	for i := range tensors { // gRPC encodes the response after the run's release
		tensors[i].Raw = bytes.Clone(tensors[i].Raw)
	}
	return response(in.model, in.id, in.Binary, tensors)
}
