package grpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "pinion/httpd/oip/grpc/inferencepb"

	"pinion/httpd/oip"
	"pinion/httpd/protocol"
	"pinion/runtime/predict"
)

// inferStream is one call of ModelStreamInfer. Its requests run concurrently as far as the model has slots; a request
// that finds none waits for an earlier one of the same stream.
type inferStream struct {
	s      *Server
	stream pb.GRPCInferenceService_ModelStreamInferServer
	call   *call
	send   sync.Mutex
	ended  chan struct{} // a token for each request that has ended
	active int

	sequences map[string]*sequence // that the client has not ended, by model and id
}

// maxActive bounds the requests of a stream that run at once.
const maxActive = 256

// ModelStreamInfer answers each request with a response for each item of its model.
func (s *service) ModelStreamInfer(stream pb.GRPCInferenceService_ModelStreamInferServer) error {
	st := &inferStream{
		s: s.s, stream: stream, call: callOf(stream.Context()),
		ended: make(chan struct{}, maxActive), sequences: map[string]*sequence{},
	}
	defer st.endSequences()
	st.call.received() // it may wait for its first request
	from, err := s.s.receiver(stream)
	if err != nil {
		return err
	}
	requests, failed := st.receive(from)
	closing := s.s.closing
	for {
		select {
		case got := <-requests:
			if err := st.start(got); err != nil {
				st.finish()
				return err
			}
		case <-st.ended:
			st.active--
		case err := <-failed:
			st.endSequences()
			st.finish()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case <-closing:
			closing = nil // sequences go on, and the model refuses others
		}
		if closing == nil && len(st.sequences) == 0 {
			st.finish()
			return status.Error(codes.Unavailable, "the server is shutting down")
		}
	}
}

// received is a request, or why it was refused.
type received struct {
	msg     *pb.ModelInferRequest
	body    protocol.Body
	refused *protocol.Error
}

// receive reads requests until the client ends the stream or the call returns.
func (st *inferStream) receive(from *receiver) (<-chan received, <-chan error) {
	requests, failed := make(chan received), make(chan error, 1)
	go func() {
		for {
			var got received
			var err error
			got.msg, got.body, err = from.next()
			if err != nil && !errors.As(err, &got.refused) {
				failed <- err
				return
			}
			select {
			case requests <- got:
			case <-st.stream.Context().Done():
				got.body.Release()
				return
			}
		}
	}()
	return requests, failed
}

func (st *inferStream) finish() {
	for ; st.active > 0; st.active-- {
		<-st.ended
	}
}

// start runs a request. An error ends the stream.
func (st *inferStream) start(got received) error {
	ctx, msg := st.stream.Context(), got.msg
	if got.refused != nil { // its id is not known, nor its sequence, which lacks it
		for _, sq := range st.sequences {
			sq.in.inlet.End("a request of the stream was refused: " + got.refused.Error())
		}
		return st.refuse(msg, got.refused)
	}
	if key := sequenceOf(msg); key != "" {
		return st.pass(key, got)
	}
	size := got.body.Charged
	for {
		if st.active == maxActive {
			<-st.ended
			st.active--
		}
		in, err := st.s.begin(ctx, msg, got.body, true, nil)
		if err != nil && err.Kind == protocol.NoPlace && st.active > 0 {
			<-st.ended
			st.active--
			if got.body, err = st.s.charge(size); err != nil { // the failed try has freed it
				return st.refuse(msg, err)
			}
			continue
		}
		if err != nil {
			return st.refuse(msg, err)
		}
		st.active++
		go func() {
			defer func() {
				st.call.work(-1)
				st.ended <- struct{}{}
			}()
			if err := st.run(ctx, in, msg); err != nil {
				_ = st.fail(msg, err) // a broken stream ends by itself
			}
		}()
		return nil
	}
}

// refuse answers a request that does not run. The stream goes on.
func (st *inferStream) refuse(msg *pb.ModelInferRequest, err *protocol.Error) error {
	defer st.call.work(-1)
	return st.fail(msg, err)
}

// fail sends an error. The stream goes on.
func (st *inferStream) fail(msg *pb.ModelInferRequest, err *protocol.Error) error {
	return st.write(&pb.ModelStreamInferResponse{
		ErrorMessage: err.Error(),
		InferResponse: &pb.ModelInferResponse{
			ModelName: msg.GetModelName(), ModelVersion: msg.GetModelVersion(), Id: msg.GetId(), Parameters: finalResponse(true),
		},
	})
}

// write sends a response. The error is that of the stream, or a *protocol.Error if the memory budget has no room for
// it.
func (st *inferStream) write(response *pb.ModelStreamInferResponse) error {
	out, err := encode(st.stream.Context(), response)
	if err != nil {
		return err
	}
	return st.sendAnswer(out)
}

// sendAnswer sends an answer. Calls of SendMsg must not overlap.
func (st *inferStream) sendAnswer(out *answer) error {
	st.send.Lock()
	defer st.send.Unlock()
	return st.stream.SendMsg(out)
}

// Triton's parameters of streams.
const (
	isFinal   = "triton_final_response"
	wantsLast = "triton_enable_empty_final_response"
)

func finalResponse(final bool) map[string]*pb.InferParameter {
	return map[string]*pb.InferParameter{isFinal: {ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: final}}}
}

// run carries a request out.
func (st *inferStream) run(ctx context.Context, in *inference, msg *pb.ModelInferRequest) (err *protocol.Error) {
	defer func() {
		if v := recover(); v != nil {
			st.s.opt.Logger.Error("a gRPC stream panicked", "panic", v)
			err = protocol.Errorf(protocol.Internal, "Internal Server Error")
		}
	}()
	if !in.signature.Iterator {
		out, err := in.wait(ctx, func(out *pb.ModelInferResponse) proto.Message {
			out.Parameters = finalResponse(true)
			return &pb.ModelStreamInferResponse{InferResponse: out}
		})
		if err == nil {
			_ = st.sendAnswer(out)
		}
		return err
	}
	respond := func(item []byte) *protocol.Error { return st.item(in, in.id, item) }
	if err := st.items(ctx, in, respond); err != nil {
		return err
	}
	if msg.GetParameters()[wantsLast].GetBoolParam() {
		st.last(in, in.id)
	}
	return nil
}

// last says that a request has no further response.
func (st *inferStream) last(in *inference, id string) {
	out, _ := response(in.model, id, true, nil) // no tensor, so no error
	out.Parameters = finalResponse(true)
	_ = st.write(&pb.ModelStreamInferResponse{InferResponse: out}) // a broken stream ends by itself
}

// maxItems is how many items are read at once.
const maxItems = 64

// items has respond send a response for each item.
func (st *inferStream) items(ctx context.Context, in *inference, respond func(item []byte) *protocol.Error) *protocol.Error {
	defer in.run.Release()
	if err := in.run.Follow(); err != nil {
		return err
	}
	defer watch(ctx, in.run)()
	items := make([][]byte, 0, maxItems)
	for {
		var err error
		items, err = in.run.Next(items[:0])
		for _, item := range items {
			if failed := respond(item); failed != nil {
				return failed
			}
		}
		var failed *protocol.Error
		switch {
		case err == nil, errors.Is(err, protocol.ErrNextRow):
		case errors.Is(err, predict.ErrStopped) && ctx.Err() == nil:
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &failed):
			return failed
		default:
			return protocol.Errorf(protocol.Failed, "the client has left")
		}
	}
}

// item sends the response of an item, with the id of a request.
func (st *inferStream) item(in *inference, id string, item []byte) *protocol.Error {
	tensors, err := in.Item(in.signature, in.shape, item)
	if err != nil {
		return err
	}
	return st.respond(in, id, tensors)
}

// respond sends tensors that are not the last of their request.
func (st *inferStream) respond(in *inference, id string, tensors []oip.Tensor) *protocol.Error {
	out, err := response(in.model, id, in.Binary, tensors)
	if err != nil {
		return err
	}
	out.Parameters = finalResponse(false)
	var failed *protocol.Error
	switch err := st.write(&pb.ModelStreamInferResponse{InferResponse: out}); {
	case errors.As(err, &failed):
		return failed
	case err != nil:
		return protocol.Errorf(protocol.Failed, "the client has left")
	}
	return nil
}
