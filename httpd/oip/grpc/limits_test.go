package grpc

import (
	"context"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	pb "pinion/httpd/oip/grpc/inferencepb"

	"pinion/httpd/protocol"
	"pinion/runtime/connlimit"
	"pinion/runtime/memory"
	"pinion/tests/assert"
	"pinion/tests/rawgrpc"
)

const (
	mib         = 1 << 20
	watchMethod = grpc_health_v1.Health_Watch_FullMethodName
	checkMethod = grpc_health_v1.Health_Check_FullMethodName
	inferMethod = pb.GRPCInferenceService_ModelInfer_FullMethodName
	streaming   = pb.GRPCInferenceService_ModelStreamInfer_FullMethodName
)

// site is a server without models.
type site struct {
	*Server
	address string
}

func serve(t *testing.T, o Options) *site {
	t.Helper()
	ln := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	o.Models, o.Logger, o.MaxMessage = protocol.Several(func() []*protocol.Model { return nil }),
		slog.New(slog.DiscardHandler), 100*mib
	s := &site{New(o), ln.Addr().String()}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = s.Shutdown(ctx) // at once
		assert.Equal(t, "error", <-served, nil)
		assert.Equal(t, "bytes charged at the end", o.Memory.Stats().Used, 0)
	})
	return s
}

func (s *site) client(t *testing.T) *grpc.ClientConn {
	t.Helper()
	c := assert.Must(grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// healthy fails unless a request for the health is answered.
func (s *site) healthy(t *testing.T) {
	t.Helper()
	_, err := grpc_health_v1.NewHealthClient(s.client(t)).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	assert.True(t, err == nil, "Check: got %v, want no error", err)
}

// TestCalls_MetadataIsBounded: an indexed header is one byte on the wire, and more in memory each time.
func TestCalls_MetadataIsBounded(t *testing.T) {
	s := serve(t, Options{Memory: memory.New(16 * mib)})
	c := rawgrpc.Dial(t, s.address)
	for _, method := range []string{watchMethod, inferMethod, "/unknown/Method"} {
		stream := c.Open(method, 480_000, hpack.HeaderField{Name: "x-long-name", Value: strings.Repeat("v", 100)})
		got := c.Ended(stream)
		assert.False(t, got != "reset" && got != "closed", "%s: got %q, want it refused", method, got)
		if got := s.opt.Memory.Stats().Used; got > 2*connCost {
			t.Errorf("%s: got %d bytes charged, want at most %d", method, got, 2*connCost)
		}
	}
	s.healthy(t)
}

// TestCalls_MetadataIsCharged: what many calls with allowed metadata hold is within the budget.
func TestCalls_MetadataIsCharged(t *testing.T) {
	s := serve(t, Options{Memory: memory.New(16 * mib)})
	c := rawgrpc.Dial(t, s.address)
	const cost = callCost + 24<<10
	var last uint32
	for range 16*mib/cost + 10 {
		last = c.Open(streaming, 1, hpack.HeaderField{Name: "x", Value: strings.Repeat("v", 24<<10)})
	}
	got := c.Ended(last)
	cut := got == "closed" // on a slow machine: its idle calls keep others out for too long
	assert.False(t, !cut && (!strings.HasPrefix(got, "14 ") || !strings.Contains(got, "--memory-budget")),
		"got %q, want UNAVAILABLE with the flag, or a connection that was cut", got)
	s.healthy(t) // a probe is answered all the same
	c.Close()
	assert.Eventually(t, "all is free again", func() bool { return s.opt.Memory.Stats().Used <= 2*connCost })
}

// TestCalls_SilentOnesEnd: before the first message, within one, and when too little of it comes.
func TestCalls_SilentOnesEnd(t *testing.T) {
	s := serve(t, Options{Memory: memory.New(16 * mib), Silence: 200 * time.Millisecond})
	open := rawgrpc.Dial(t, s.address)
	idle := open.Call(streaming) // it has sent no request, so it has no deadline
	for what, c := range map[string]struct {
		method string
		size   int
		begin  int
	}{
		"no message":       {inferMethod, 0, 0},
		"no Check":         {checkMethod, 0, 0},
		"half a head":      {inferMethod, 0, -1},
		"half a Check":     {checkMethod, 100, 10},
		"a small message":  {inferMethod, 1000, 10},
		"a large message":  {inferMethod, 8 * mib, 200},
		"in a stream":      {streaming, 8 * mib, 200},
		"a Watch":          {watchMethod, 0, 0},
		"a half Watch":     {watchMethod, 100, 3},
		"for no reason":    {pb.GRPCInferenceService_ModelReady_FullMethodName, 1000, 1},
		"within a message": {streaming, 100, 50},
	} {
		t.Run(what, func(t *testing.T) {
			client := rawgrpc.Dial(t, s.address)
			call := client.Call(c.method)
			switch {
			case c.begin < 0:
				client.Data(call, []byte{0, 0}, false)
			case c.size > 0:
				client.Announce(call, c.size, make([]byte, c.begin))
			}
			got := client.Ended(call)
			assert.True(t, got != "closed" && !strings.HasPrefix(got, "0 "), "got %q, want it ended", got)
		})
	}
	open.Message(idle, nil)
	got := open.Ended(idle)
	assert.True(t, strings.HasPrefix(got, "0 "), "got %q of a stream that waited for its first request, want OK", got)
}

// TestCalls_SlowOnesGiveTheirMemoryBack: calls that announce much, or hold much, and stop are ended for those that need
// the memory.
func TestCalls_SlowOnesGiveTheirMemoryBack(t *testing.T) {
	const most = 60_000 // within the first window
	for what, begin := range map[string]int{"announced": 200, "held": most} {
		t.Run(what, func(t *testing.T) {
			b := memory.New(16 * mib)
			s := serve(t, Options{Memory: b})
			for range 4 {
				client := rawgrpc.Dial(t, s.address)
				call := client.Call(inferMethod)
				client.Announce(call, 3*mib, make([]byte, begin))
				if begin == most {
					client.AwaitWindow(call)
					client.Data(call, make([]byte, callWindow-most), false)
				}
			}
			if begin == most {
				assert.Eventually(t, "they hold memory", func() bool { return b.Stats().Used > 5*mib })
			}
			err := b.Wait(4*mib, 10*time.Second, nil)
			assert.True(t, err == nil, "got %v, want room", err)
			b.Free(4 * mib)
		})
	}
}

// TestConnections_IdleOnesMakeRoom: also those with a Watch, or that never spoke; one with a request stays.
func TestConnections_IdleOnesMakeRoom(t *testing.T) {
	limit := connlimit.New(4)
	s := serve(t, Options{Memory: memory.New(16 * mib), Connections: limit})
	busy := rawgrpc.Dial(t, s.address)
	call := busy.Call(inferMethod)
	busy.Announce(call, 1000, nil)
	assert.Eventually(t, "a request is being read", func() bool {
		idle := s.idle()
		return limit.Stats().Open == 1 && len(idle) == 1 && idle[0].Receiving
	})
	watching := rawgrpc.Dial(t, s.address)
	watching.Message(watching.Call(watchMethod), nil)
	silent := assert.Must(net.Dial("tcp", s.address))(t)
	defer silent.Close()
	assert.Eventually(t, "three are open, for a while", func() bool {
		idle := s.idle()
		return len(idle) == 3 && !slices.ContainsFunc(idle, func(c connlimit.Idle) bool {
			return time.Since(c.Since) <= connlimit.NewGrace
		})
	})
	for range 3 { // one has a free place, and two are closed for the others
		s.healthy(t)
	}
	if _, err := silent.Read(make([]byte, 100)); err == nil {
		n, err := io.ReadFull(silent, make([]byte, 1<<20))
		assert.True(t, err != nil, "read %d bytes from the silent one, want it closed", n)
	}
	busy.Data(call, make([]byte, 1000), true)
	got := busy.Ended(call)
	assert.True(t, got != "closed", "the connection with a request was closed: got %q, want anything but closed", got)
	if got := limit.Stats(); got.Open > 4 || got.Evicted == 0 {
		t.Errorf("got %+v, want at most 4 open, and some evicted", got)
	}
}

// TestConnections_ReceivingOnesMakeRoom: clients that stop within a message keep no others out.
func TestConnections_ReceivingOnesMakeRoom(t *testing.T) {
	limit := connlimit.New(4)
	s := serve(t, Options{Memory: memory.New(16 * mib), Connections: limit})
	for range 4 {
		c := rawgrpc.Dial(t, s.address)
		c.Announce(c.Call(inferMethod), 1000, nil)
	}
	assert.Eventually(t, "four requests are being read", func() bool {
		return len(s.idle()) == 4 && !slices.ContainsFunc(s.idle(), func(i connlimit.Idle) bool { return !i.Receiving })
	})
	s.healthy(t)
	got := limit.Stats()
	assert.True(t, got.Evicted != 0 && got.Refused == 0, "got %+v, want one evicted and none refused", got)
}

// TestConnections_ThoseThatDoNotReadMakeRoom: a client that takes none of its answers keeps no others out, though its
// request is run. One whose answer has just begun stays.
func TestConnections_ThoseThatDoNotReadMakeRoom(t *testing.T) {
	limit := connlimit.New(1)
	s := serve(t, Options{Memory: memory.New(16 * mib), Connections: limit})
	rawgrpc.Dial(t, s.address)
	assert.Eventually(t, "the connection is known", func() bool { return len(s.conns.list()) == 1 })
	c := s.conns.list()[0]
	set := func(written time.Time) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.work(1)
		c.unsent, c.written = 1, written
	}
	set(time.Now().Add(time.Hour)) // as if it had just been
	idle := s.idle()
	assert.True(t, len(idle) == 0 && !c.CloseIdle(), "got %+v closed for others, want none: its answer is being written", idle)
	set(time.Now().Add(-time.Hour))
	idle = s.idle()
	assert.True(t, len(idle) == 1 && idle[0].Blocked, "got %+v, want one that does not read", idle)
	s.healthy(t)
	got := limit.Stats()
	assert.True(t, got.Evicted == 1 && got.Refused == 0, "got %+v, want one evicted and none refused", got)
}

// TestConnections_IdleOnesGiveTheirMemoryBack: thousands of idle connections take no memory from requests.
func TestConnections_IdleOnesGiveTheirMemoryBack(t *testing.T) {
	b := memory.New(16 * mib)
	s := serve(t, Options{Memory: b})
	for range 16*mib/connCost + 20 {
		rawgrpc.Dial(t, s.address)
	}
	assert.Eventually(t, "their memory is charged", func() bool { return b.Stats().Used > 14*mib })
	err := b.Wait(4*mib, 10*time.Second, nil)
	assert.True(t, err == nil, "got %v, want room", err)
	s.healthy(t)
	b.Free(4 * mib)
}

// TestWatch_IsBounded: a connection has a limited number of Watch calls, and other connections have theirs.
func TestWatch_IsBounded(t *testing.T) {
	s := serve(t, Options{Memory: memory.New(64 * mib)})
	c := rawgrpc.Dial(t, s.address)
	var last uint32
	for range 100 {
		last = c.Call(watchMethod)
		c.Message(last, nil)
	}
	got := c.Ended(last)
	assert.True(t, strings.HasPrefix(got, "8 "), "got %q, want RESOURCE_EXHAUSTED", got)
	assert.Equal(t, "Watch calls", s.watches.Load(), watchesEach)
	stream, err := grpc_health_v1.NewHealthClient(s.client(t)).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	assert.NoError(t, err)
	_, err = stream.Recv()
	assert.True(t, err == nil, "a Watch of another connection: got %v, want no error", err)
	c.Close()
	assert.Eventually(t, "one is left", func() bool { return s.watches.Load() == 1 })
}
