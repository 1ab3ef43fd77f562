package grpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/runtime/protoiface"

	"pinion/httpd/body"
	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/httpd/protocol"
	"pinion/runtime/memory"
)

// transport is gRPC's side of a call. gRPC itself reads a message whole before it tells its length, and then the memory
// budget cannot refuse it: a few clients with large tensors could end the server. The methods are those of the stream
// of a call in gRPC's own transport.
type transport interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
	RecvCompress() string
}

// receiver reads the messages of a call.
type receiver struct {
	s    *Server
	ctx  context.Context
	call *call
	from transport

	arrival memory.Arrival // the message that is being read
}

func (s *Server) receiver(stream grpc.ServerStream) (*receiver, error) {
	ctx := stream.Context()
	from, ok := grpc.ServerTransportStreamFromContext(ctx).(transport)
	if !ok {
		return nil, status.Error(codes.Internal, "gRPC's transport does not let messages be read in parts")
	}
	return &receiver{s: s, ctx: ctx, call: callOf(ctx), from: from}, nil
}

const (
	// memoryWait is how long a message may wait for room in the memory budget.
	memoryWait = 10 * time.Second
	// callWindow is how many bytes of a message may arrive before it is charged. gRPC has no smaller window.
	callWindow = 64 << 10
	// partSize is how many bytes of a message are read at once, for which the client then has a window.
	partSize = 1 << 20
)

// next reads a message. The body is its charge to the memory budget, which the caller releases, and the call works
// until the caller says call.work(-1). After a *protocol.Error the message has been skipped and the call may go on; any
// other error ends it. io.EOF means that the client sends no more.
func (r *receiver) next() (*pb.ModelInferRequest, protocol.Body, error) {
	var header [5]byte
	if err := r.from.ReadMessageHeader(header[:]); err != nil {
		return nil, protocol.Body{}, r.broken(err)
	}
	r.call.awaitClient()
	r.call.work(1)
	if header[0] > 1 {
		return nil, protocol.Body{},
			status.Errorf(codes.Internal, "unknown flag %d of a message: it must be 0, or 1 if compressed",
				header[0])
	}
	size := int64(binary.BigEndian.Uint32(header[1:]))
	if size > r.s.opt.MaxMessage {
		return nil, protocol.Body{},
			status.Errorf(codes.ResourceExhausted, "the message has %d bytes; at most %d are taken (--max-body)", size,
				r.s.opt.MaxMessage)
	}
	data, body, err := r.content(size)
	r.call.received()
	if err != nil {
		return nil, protocol.Body{}, err
	}
	if header[0] == 1 {
		data, err = r.inflate(data.Bytes(), &body)
	}
	msg := new(pb.ModelInferRequest)
	if err == nil {
		err = unmarshal(data.Bytes(), msg, r.s.charger(&body))
	}
	if err != nil {
		body.Release()
		return nil, protocol.Body{}, err
	}
	return msg, body, nil
}

// content reads the bytes of a message. It charges them when the first ones have come, so that a message that is only
// announced takes no memory from others.
func (r *receiver) content(size int64) (*bytes.Buffer, protocol.Body, error) {
	data := bytes.NewBuffer(make([]byte, 0, min(size, callWindow)))
	if r.call != nil {
		r.s.opt.Memory.Begin(&r.arrival, r.call.cut)
		defer r.arrival.End()
	}
	if size > callWindow {
		r.arrival.Hold(callWindow, size) // the call is charged, and the connection
		if err := r.read(callWindow, data); err != nil {
			return nil, protocol.Body{}, err
		}
		r.arrival.Hold(0, 0) // it may wait for room
	}
	first := data.Bytes()
	r.call.received()
	body, refused := r.s.charge(size)
	r.call.awaitClient()
	if refused != nil {
		if err := r.read(size-int64(len(first)), io.Discard); err != nil {
			return nil, protocol.Body{}, err
		}
		return nil, protocol.Body{}, refused
	}
	r.arrival.Hold(size, size-int64(len(first)))
	if len(first) > 0 {
		data = bytes.NewBuffer(append(make([]byte, 0, size), first...))
	}
	if err := r.read(size-int64(len(first)), data); err != nil {
		body.Release()
		return nil, protocol.Body{}, err
	}
	return data, body, nil
}

// charge charges a message to the memory budget.
func (s *Server) charge(size int64) (protocol.Body, *protocol.Error) {
	if err := s.opt.Memory.Wait(size, memoryWait, s.closing); err != nil {
		return protocol.Body{}, protocol.ErrorOf(err)
	}
	return body.New(nil, size, nil, s.opt.Memory), nil
}

// charger returns a function that charges more to a body. It does not wait, since the body is charged already.
func (s *Server) charger(body *protocol.Body) func(bytes int64) *protocol.Error {
	return func(bytes int64) *protocol.Error {
		switch budget := s.opt.Memory; {
		case body.Charged+bytes > budget.Max():
			return protocol.ErrorOf(budget.TooLarge())
		case !budget.Take(bytes, body.Charged+bytes):
			return protocol.ErrorOf(memory.ErrFull)
		}
		body.Charged += bytes
		return nil
	}
}

// read copies the next bytes of the message to w.
func (r *receiver) read(size int64, w io.Writer) error {
	for size > 0 {
		part, err := r.from.Read(int(min(size, partSize)))
		if err != nil {
			return r.broken(err)
		}
		for _, buffer := range part {
			_, _ = w.Write(buffer.ReadOnlyData()) // neither a buffer nor io.Discard fails
		}
		size -= int64(part.Len())
		r.call.came(part.Len())
		r.arrival.Came(part.Len())
		part.Free()
	}
	return nil
}

// inflate returns a compressed message's content, whose size is added to the body's charge. The content is made twice,
// since its size has to be charged before it takes memory.
func (r *receiver) inflate(compressed []byte, body *protocol.Body) (*bytes.Buffer, error) {
	compressor := encoding.GetCompressor(r.from.RecvCompress())
	if compressor == nil {
		return nil, status.Errorf(codes.Unimplemented, "messages cannot be compressed by %q here: use gzip, deflate or none",
			r.from.RecvCompress())
	}
	inflate := func(w io.Writer) (int64, error) {
		from, err := compressor.Decompress(bytes.NewReader(compressed))
		if err != nil {
			return 0, err
		}
		if closer, ok := from.(io.Closer); ok {
			defer closer.Close()
		}
		return io.Copy(w, io.LimitReader(from, r.s.opt.MaxMessage+1))
	}
	broken := func(err error) error {
		return status.Errorf(codes.InvalidArgument, "the message cannot be decompressed: %v", err)
	}
	size, err := inflate(io.Discard)
	switch {
	case err != nil:
		return nil, broken(err)
	case size > r.s.opt.MaxMessage:
		return nil, status.Errorf(codes.ResourceExhausted,
			"the message has more than %d bytes after decompression (--max-body)", r.s.opt.MaxMessage)
	}
	if err := r.s.charger(body)(size); err != nil {
		return nil, err
	}
	data := bytes.NewBuffer(make([]byte, 0, size))
	if _, err := inflate(data); err != nil {
		return nil, broken(err)
	}
	return data, nil
}

// maxDepth bounds how deep a message nests; those of the protocol have three levels.
const maxDepth = 100

// unmarshal reads a message whose tensors stay in data. charge charges what their elements take, before they are
// decoded.
func unmarshal(data []byte, msg *pb.ModelInferRequest, charge func(bytes int64) *protocol.Error) error {
	size := measure(data)
	if size.fields > maxFields {
		return status.Errorf(codes.InvalidArgument,
			"the message has more than %d fields: send fewer inputs, outputs and parameters", maxFields)
	}
	if size.elements > memory.Small {
		if err := charge(size.elements); err != nil {
			return err
		}
	}
	m := msg.ProtoReflect()
	if _, err := m.ProtoMethods().Unmarshal(protoiface.UnmarshalInput{
		Message: m, Buf: data, Flags: protoiface.UnmarshalAliasBuffer | protoiface.UnmarshalDiscardUnknown,
		Resolver: protoregistry.GlobalTypes, Depth: maxDepth,
	}); err != nil {
		return status.Errorf(codes.InvalidArgument, "invalid ModelInferRequest: %v", err)
	}
	return nil
}

// broken returns the status of a call whose message ends early.
func (r *receiver) broken(err error) error {
	if failed := r.call.failed(); failed != nil {
		return failed
	}
	switch {
	case errors.Is(err, io.EOF): // not io.ErrUnexpectedEOF
		return io.EOF
	case r.ctx.Err() != nil:
		return status.FromContextError(r.ctx.Err()).Err()
	default:
		return status.Errorf(codes.InvalidArgument, "the message ends early: %v", err)
	}
}
