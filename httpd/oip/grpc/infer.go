package grpc

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/runtime/predict"
	requests "pinion/runtime/request"

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

	// Of a sequence:
	inlet  *predict.Inlet
	field  *protocol.Field // the streamed input
	first  []predict.Item  // of the request that begins it
	parsed protocol.Call   // has the files of all items
}

// begin creates a message's predictions, which take over its body. The caller releases the run. to gets the items of a
// sequence, which the caller puts; nil means that the message is not of one.
func (s *Server) begin(ctx context.Context, msg *pb.ModelInferRequest, body protocol.Body,
	stream bool, to *predict.Inlet,
) (*inference, *protocol.Error) {
	m, signature, err := oip.Find(s.opt.Models, msg.GetModelName(), msg.GetModelVersion())
	if err != nil {
		body.Release()
		return nil, err
	}
	in := &inference{model: m, signature: signature, id: msg.GetId(), inlet: to}
	if in.Request, err = request(msg); err != nil {
		body.Release()
		return nil, err
	}
	if to != nil {
		if signature, err = in.beginItems(s.charger(&body)); err != nil {
			body.Release()
			return nil, err
		}
	}
	c, shape, err := in.Call(m, signature, s.charger(&body))
	if n := protocol.RowsCost(len(c.Inputs)); err == nil && n > 0 {
		if err = s.charger(&body)(n); err != nil && c.Attachments != nil {
			c.Attachments.Close()
		}
	}
	if err != nil {
		body.Release()
		return nil, err
	}
	c.Body, c.Inlet, c.Stream, in.shape = body, to, stream && signature.Iterator, shape
	c.WantTensors = c.WantTensors && !c.Stream
	var bad error
	c.Meta, bad = requests.ReadMeta(s.opt.TenantHeader, s.opt.Tracer != nil, func(name string) []string {
		return metadata.ValueFromIncomingContext(ctx, name)
	})
	if bad != nil {
		if c.Attachments != nil {
			c.Attachments.Close()
		}
		c.Body.Release()
		return nil, protocol.ErrorOf(bad)
	}
	c.Trace = traceOf(ctx)
	in.run, err = m.Begin(c)
	return in, err
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

// infer answers the one request of a ModelInfer with the tensors of its predictions.
func (s *service) infer(stream grpc.ServerStream) error {
	ctx := stream.Context()
	from, err := s.s.receiver(stream)
	if err != nil {
		return err
	}
	msg, body, err := from.next()
	var refused *protocol.Error
	switch {
	case errors.As(err, &refused):
		return failure(ctx, refused)
	case errors.Is(err, io.EOF):
		return status.Error(codes.InvalidArgument, "the call has no message: send a ModelInferRequest")
	case err != nil:
		return err
	}
	in, refused := s.s.begin(ctx, msg, body, false, nil)
	if refused != nil {
		return failure(ctx, refused)
	}
	out, refused := in.wait(ctx, func(out *pb.ModelInferResponse) proto.Message { return out })
	if refused != nil {
		return failure(ctx, refused)
	}
	return stream.SendMsg(out)
}

// wait carries the predictions out, encodes their answer in the message that wrap makes of it, and releases them.
func (in *inference) wait(ctx context.Context,
	wrap func(*pb.ModelInferResponse) proto.Message,
) (*answer, *protocol.Error) {
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
	out, err := response(in.model, in.id, in.Binary, tensors)
	if err != nil {
		return nil, err
	}
	return encode(ctx, wrap(out))
}
