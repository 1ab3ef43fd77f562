package grpc

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/runtime/memory"
)

const (
	// callCost is about what a call takes in memory: a goroutine, gRPC's state, and bytes that the client may send
	// unasked.
	callCost = 32 << 10
	// entryCost is what an entry of the metadata takes beside its text.
	entryCost = 128
	// maxHeaders bounds the metadata of a call in bytes, as HTTP's headers.
	maxHeaders = 32 << 10
	// maxWatches bounds the Watch calls of the health service, and watchesEach those of one connection.
	maxWatches, watchesEach = 1024, 16
	// freeProbes is how many connections, and how many calls of probes, may be open when the memory budget has no room.
	freeProbes = 64
	// bodyRate is how many bytes of a message add a second to the time that its client has, as HTTP's.
	bodyRate = 4 << 10
)

// errSilent is why a call was canceled whose client sent nothing, or too little.
var errSilent = errors.New("the client sent nothing of its message, or too slowly")

// call is one call, from its metadata on. conn.mu guards the fields below it.
type call struct {
	conn   *conn
	ctx    context.Context
	cancel context.CancelCauseFunc
	due    atomic.Int64 // until when the client is to send, in Unix nanoseconds; 0 means it need not
	unsent atomic.Int32 // answers that gRPC has not written

	ended   bool
	handled bool // an interceptor ends it
	done    bool // the interceptor has, and gRPC holds it until its answers are written
	watch   bool
	probe   bool  // counted in Server.probes
	busy    int   // its part of conn.busy
	cost    int64 // charged
}

type callKey struct{}

// callOf returns the call of a context, or nil if it is not from one of our listeners.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// enter admits a call before gRPC makes a stream of it. gRPC calls it from the goroutine that reads the connection.
func (s *Server) enter(ctx context.Context, info *tap.Info) (context.Context, error) {
	conn := connOf(ctx)
	if conn == nil {
		return ctx, nil
	}
	c := &call{conn: conn, watch: info.FullMethodName == grpc_health_v1.Health_Watch_FullMethodName}
	if cost := callCost + metadataCost(info.Header); s.opt.Memory.TakeArriving(cost) {
		c.cost = cost
		conn.keep(cost)
	} else if c.probe = public(info.FullMethodName) && !c.watch; !c.probe || s.probes.Load() >= freeProbes {
		return nil, status.Errorf(codes.Unavailable, "%v (--memory-budget)", memory.ErrFull)
	} else {
		s.probes.Add(1)
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.due.Store(time.Now().Add(s.opt.Silence).UnixNano())
	if err := conn.begin(c); err != nil {
		return nil, err
	}
	return context.WithValue(c.ctx, callKey{}, c), nil
}

// metadataCost returns about what metadata takes in memory.
func metadataCost(md metadata.MD) (n int64) {
	for name, values := range md {
		n += int64(len(name)) + entryCost
		for _, value := range values {
			n += int64(len(value)) + 16
		}
	}
	return n
}

// begin registers a call.
func (c *conn) begin(k *call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[k] = struct{}{}
	if k.watch {
		c.watches++
		if total := c.srv.watches.Add(1); c.watches > watchesEach || total > maxWatches {
			c.drop(k)
			return status.Errorf(codes.ResourceExhausted, "too many Watch calls: at most %d of a connection, and %d in all",
				watchesEach, maxWatches)
		}
	}
	return nil
}

// handle says that an interceptor ends the call.
func (k *call) handle() {
	if k != nil {
		k.conn.mu.Lock()
		k.handled = true
		k.conn.mu.Unlock()
	}
}

// end ends the call. It is charged until gRPC has written its answers and its end: until then gRPC holds its metadata.
// For a call that the client canceled, nothing is written.
func (k *call) end() {
	if k == nil {
		return
	}
	c := k.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	c.work(-k.busy)
	k.busy = 0
	k.due.Store(0)
	switch {
	case errors.Is(context.Cause(k.ctx), context.Canceled):
		c.drop(k)
	case k.unsent.Load() > 0:
		k.done = true
	case !k.ended:
		c.forget(k)
		c.ending += k.cost
	}
	k.cancel(nil)
}

// work changes how many requests of the call are being read or run.
func (k *call) work(n int) {
	if k != nil {
		k.conn.mu.Lock()
		k.busy += n
		k.conn.work(n)
		k.conn.mu.Unlock()
	}
}

// awaitClient gives the client time to send.
func (k *call) awaitClient() {
	if k != nil {
		k.due.Store(time.Now().Add(k.conn.srv.opt.Silence).UnixNano())
	}
}

// received says that the client need not send now.
func (k *call) received() {
	if k != nil {
		k.due.Store(0)
	}
}

// came gives the client more time, as n bytes of its message have come.
func (k *call) came(n int) {
	if k != nil {
		k.due.Add(int64(n) * int64(time.Second) / bodyRate)
	}
}

// cut ends a call whose message comes slowly while others wait for its memory.
func (k *call) cut() {
	k.cancel(memory.ErrFull)
}

// failed returns the status of a call that was canceled by the server; nil means it was not.
func (k *call) failed() error {
	if k == nil {
		return nil
	}
	switch cause := context.Cause(k.ctx); {
	case errors.Is(cause, errSilent):
		return status.Error(codes.DeadlineExceeded, "the message did not arrive in time")
	case errors.Is(cause, memory.ErrFull):
		return status.Error(codes.Unavailable,
			"the message came slowly while the server's memory budget was used up (--memory-budget)")
	}
	return nil
}

// public reports whether a method needs no token: probes have none.
func public(method string) bool {
	switch method {
	case grpc_health_v1.Health_Check_FullMethodName, grpc_health_v1.Health_Watch_FullMethodName,
		grpc_health_v1.Health_List_FullMethodName,
		pb.GRPCInferenceService_ServerLive_FullMethodName, pb.GRPCInferenceService_ServerReady_FullMethodName:
		return true
	}
	return false
}
