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
	call *call // nil means nothing is charged
	cost int64 // 0 means the call's charge is for it too
}

const (
	// answerCost is what an answer takes in memory beside its bytes.
	answerCost = 512
	// minCompressed is the smallest memory of an answer: gRPC does not say when it has written a smaller one.
	minCompressed = 1<<10 + 1
	// coveredAnswers is how many small answers of a call its own charge is for.
	coveredAnswers = 8
)

// encode encodes a message, which may alias memory of a prediction.
func encode(ctx context.Context, msg proto.Message) (*answer, *protocol.Error) {
	size := proto.Size(msg)
	a := &answer{call: callOf(ctx)}
	if a.call != nil {
		if !a.charge(int64(size)) {
			return nil, protocol.ErrorOf(memory.ErrFull)
		}
		a.call.unsent.Add(1) // an interceptor ends the call before gRPC has the answer
	}
	data, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(make([]byte, 0, max(size, minCompressed)), msg)
	if err != nil {
		a.drop()
		return nil, protocol.Errorf(protocol.Internal, "the answer cannot be encoded: %v", err)
	}
	a.data = data
	return a, nil
}

// charge charges an answer of size bytes; false means there is no room.
func (a *answer) charge(size int64) bool {
	if size < memory.MinCharge && a.call.unsent.Load() < coveredAnswers {
		return true
	}
	a.cost = max(size, minCompressed) + answerCost
	return a.call.conn.take(a.cost)
}

// drop ends the charge of an answer that was not passed to gRPC.
func (a *answer) drop() {
	if a.call != nil {
		a.call.conn.mu.Lock()
		a.release()
		a.call.conn.mu.Unlock()
	}
}

// release ends the charge. Called with the connection's lock held.
func (a *answer) release() {
	a.call.conn.free(a.cost)
	if a.call.unsent.Add(-1) == 0 && a.call.done {
		a.call.conn.drop(a.call)
	}
}

// Get is never called; see mem.BufferPool.
func (a *answer) Get(int) *[]byte { return new([]byte) }

// Put ends the charge when gRPC has written the answer.
func (a *answer) Put(*[]byte) {
	conn := a.call.conn
	conn.mu.Lock()
	defer conn.mu.Unlock()
	conn.unsent--
	conn.written = time.Now()
	a.release()
}

// codec passes answers to gRPC as they are.
type codec struct{ encoding.CodecV2 }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	a, ok := v.(*answer)
	switch {
	case !ok:
		return c.CodecV2.Marshal(v)
	case a.call == nil:
		return mem.BufferSlice{mem.SliceBuffer(a.data)}, nil
	}
	conn := a.call.conn
	conn.mu.Lock()
	if conn.unsent == 0 {
		conn.written = time.Now()
	}
	conn.unsent++
	conn.mu.Unlock()
	return mem.BufferSlice{mem.NewBuffer(&a.data, a)}, nil
}
