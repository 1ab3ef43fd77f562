package grpc

import (
	"context"
	"time"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"pinion/httpd/protocol"
	"pinion/runtime/memory"
)

// answer is a message that is encoded and charged. gRPC holds it until the client takes it, also after the call has
// ended.
type answer struct {
	data []byte
	conn *conn // nil: nothing is charged
	cost int64
}

// encode encodes a message, which may alias memory of a prediction.
func encode(ctx context.Context, msg proto.Message) (*answer, *protocol.Error) {
	a := new(answer)
	if a.cost = int64(proto.Size(msg)); a.cost >= memory.Least {
		if a.conn = connOf(ctx); a.conn != nil && !a.conn.take(a.cost) {
			return nil, protocol.ErrorOf(memory.ErrFull)
		}
		a.data = make([]byte, 0, a.cost)
	}
	data, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(a.data, msg)
	if err != nil {
		a.drop()
		return nil, protocol.Errorf(protocol.Internal, "the answer cannot be encoded: %v", err)
	}
	a.data = data
	return a, nil
}

// drop ends the charge of an answer that was not passed to gRPC.
func (a *answer) drop() {
	if a.conn != nil {
		a.conn.mu.Lock()
		a.conn.free(a.cost)
		a.conn.mu.Unlock()
	}
}

// Get is never called; see mem.BufferPool.
func (a *answer) Get(int) *[]byte { return new([]byte) }

// Put ends the charge when gRPC has written the answer.
func (a *answer) Put(*[]byte) {
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	a.conn.unsent -= int64(len(a.data))
	a.conn.written = time.Now()
	a.conn.free(a.cost)
}

// codec passes answers to gRPC as they are.
type codec struct{ encoding.CodecV2 }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	a, ok := v.(*answer)
	switch {
	case !ok:
		return c.CodecV2.Marshal(v)
	case a.conn == nil:
		return mem.BufferSlice{mem.SliceBuffer(a.data)}, nil
	}
	a.conn.mu.Lock()
	if a.conn.unsent == 0 {
		a.conn.written = time.Now()
	}
	a.conn.unsent += int64(len(a.data))
	a.conn.mu.Unlock()
	return mem.BufferSlice{mem.NewBuffer(&a.data, a)}, nil
}
