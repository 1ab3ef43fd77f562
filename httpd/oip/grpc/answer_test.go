package grpc

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/tap"

	pb "pinion/httpd/oip/grpc/inferencepb"

	"pinion/runtime/memory"
	"pinion/tests/assert"
	"pinion/tests/rawgrpc"
)

// TestAnswers_AreChargedUntilTheyAreTaken: gRPC holds an answer after its call has ended. A client that takes none of
// it loses its connection, and what it held is free.
func TestAnswers_AreChargedUntilTheyAreTaken(t *testing.T) {
	b := memory.New(16 * mib)
	s := serve(t, Options{Memory: b, WriteTimeout: 200 * time.Millisecond})
	client := rawgrpc.Dial(t, s.address)
	assert.Eventually(t, "the connection is known", func() bool { return len(s.conns.list()) == 1 })
	ctx := context.WithValue(t.Context(), callKey{}, &call{conn: s.conns.list()[0]})
	pass := func() interface{ Free() } {
		a, refused := encode(ctx, &pb.ModelInferResponse{RawOutputContents: [][]byte{make([]byte, mib)}})
		assert.TrueNow(t, refused == nil, "got %+v, want nil", refused)
		return assert.Must(codec{encoding.GetCodecV2("proto")}.Marshal(a))(t)
	}
	taken := pass()
	got := b.Stats().Used
	assert.True(t, got >= mib+connCost, "got %d bytes charged, want the answer's too", got)
	taken.Free()
	assert.Equal(t, "bytes charged after it was taken", b.Stats().Used, connCost)
	pass() // gRPC never writes it
	assert.Eventually(t, "the connection is closed and all is free", func() bool { return b.Stats().Used == 0 })
	assert.Equal(t, "end of the call", client.Ended(1), "closed")
}

// TestAnswers_SmallOnesOfEndedCallsAreCharged: a client without a window takes no answer, and gRPC holds each with its
// call's metadata.
func TestAnswers_SmallOnesOfEndedCallsAreCharged(t *testing.T) {
	for name, method := range map[string]string{
		"a message": checkMethod,
		"a stream":  grpc_reflection_v1.ServerReflection_ServerReflectionInfo_FullMethodName,
	} {
		t.Run(name, func(t *testing.T) {
			const calls, header = 500, 2 << 10
			b := memory.New(256 * mib)
			var ended atomic.Int64
			s := serve(t, Options{Memory: b, OnCall: func(string, string, time.Duration) { ended.Add(1) }})
			client := rawgrpc.Dial(t, s.address, http2.Setting{ID: http2.SettingInitialWindowSize})
			for range calls {
				stream := client.Open(method, 1, hpack.HeaderField{Name: "x", Value: strings.Repeat("x", header)})
				client.Message(stream, nil)
			}
			assert.Eventually(t, "all calls have ended", func() bool { return ended.Load() == calls })
			if got, want := b.Stats().Used, int64(calls*(callCost+header)); got < want {
				t.Errorf("got %d bytes charged for %d calls whose answers wait, want %d at least", got, calls, want)
			}
			client.Close()
			assert.Eventually(t, "all is free", func() bool { return b.Stats().Used == 0 })
		})
	}
}

// TestAnswers_ClientWithoutWindowLosesItsConnection, be the answer ever so small.
func TestAnswers_ClientWithoutWindowLosesItsConnection(t *testing.T) {
	s := serve(t, Options{Memory: memory.New(16 * mib), WriteTimeout: 200 * time.Millisecond})
	client := rawgrpc.Dial(t, s.address, http2.Setting{ID: http2.SettingInitialWindowSize})
	stream := client.Call(checkMethod)
	client.Message(stream, nil)
	assert.Equal(t, "end of the stream", client.Ended(stream), "closed")
}

// TestAnswers_ManySmallOnesOfOneCallAreCharged, beyond those that the call's own charge is for.
func TestAnswers_ManySmallOnesOfOneCallAreCharged(t *testing.T) {
	const many = 300
	b := memory.New(16 * mib)
	s := serve(t, Options{Memory: b})
	client := rawgrpc.Dial(t, s.address, http2.Setting{ID: http2.SettingInitialWindowSize})
	stream := client.Call(grpc_reflection_v1.ServerReflection_ServerReflectionInfo_FullMethodName)
	for range many {
		client.Data(stream, make([]byte, 5), false) // an empty message
	}
	const least = connCost + callCost + (many-coveredAnswers)*answerCost
	assert.Eventually(t, "the answers are charged", func() bool { return b.Stats().Used > least })
}

// TestAnswers_EndedCallIsChargedUntilItsEndIsWritten: gRPC holds it as long, also if it has no answer.
func TestAnswers_EndedCallIsChargedUntilItsEndIsWritten(t *testing.T) {
	b := memory.New(16 * mib)
	s := New(Options{Memory: b})
	near, far := net.Pipe()
	c := &conn{Conn: near, srv: s, calls: map[*call]struct{}{}}
	assert.TrueNow(t, s.adopt(c), "no room for a connection")
	defer c.Close()
	begin := func() (*call, context.CancelFunc) {
		ctx, cancel := context.WithCancel(peer.NewContext(t.Context(), &peer.Peer{Addr: c.RemoteAddr()}))
		ctx = assert.Must(s.enter(ctx, &tap.Info{FullMethodName: checkMethod}))(t)
		return callOf(ctx), cancel
	}
	canceled, cancel := begin()
	cancel()
	canceled.end()
	assert.Equal(t, "bytes charged after a call that its client canceled", b.Stats().Used, connCost)
	ended, _ := begin()
	ended.end()
	written := make(chan error, 1)
	go func() {
		_, err := c.Write([]byte("end"))
		written <- err
	}()
	assert.Eventually(t, "the end is being written", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.ending == 0
	})
	late, _ := begin()
	late.end() // this write does not have it
	assert.Equal(t, "bytes charged while the client does not read", b.Stats().Used, connCost+2*callCost)
	_, err := io.ReadFull(far, make([]byte, 3))
	assert.NoError(t, err)
	assert.NoError(t, <-written)
	assert.Equal(t, "bytes charged after the first end was written", b.Stats().Used, connCost+callCost)
}

// TestAnswers_OfCompressedCallsAreNotCompressed: gRPC would hold compressed bytes that nothing charges.
func TestAnswers_OfCompressedCallsAreNotCompressed(t *testing.T) {
	s := serve(t, Options{})
	connection := s.client(t)
	var header metadata.MD
	options := []grpc.CallOption{grpc.UseCompressor(gzip.Name), grpc.Header(&header)}
	if _, err := grpc_health_v1.NewHealthClient(connection).Check(t.Context(),
		&grpc_health_v1.HealthCheckRequest{}, options...); err != nil {
		t.Fatal(err)
	}
	if got := header.Get("grpc-encoding"); len(got) > 0 && got[0] != encoding.Identity {
		t.Errorf("the answer of a compressed message has the coding %q", got)
	}
	stream, err := grpc_health_v1.NewHealthClient(connection).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{},
		options[0])
	assert.NoError(t, err)
	_, err = stream.Recv()
	assert.NoError(t, err)
	if header, err := stream.Header(); err != nil || len(header.Get("grpc-encoding")) > 0 &&
		header.Get("grpc-encoding")[0] != encoding.Identity {
		t.Errorf("the answers of a compressed stream have the headers %v (%v), want no coding", header, err)
	}
}
