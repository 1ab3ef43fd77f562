package grpc

import (
	"testing"
	"time"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/peer"

	pb "pinion/httpd/oip/grpc/inferencepb"

	"pinion/runtime/memory"
	"pinion/tests/await"
	"pinion/tests/rawgrpc"
)

// TestAnswers_AreChargedUntilTheyAreTaken: gRPC holds an answer after its call has ended. A client that takes none of
// it loses its connection, and what it held is free.
func TestAnswers_AreChargedUntilTheyAreTaken(t *testing.T) {
	b := memory.New(16 * mib)
	s := serve(t, Options{Memory: b, WriteTimeout: 200 * time.Millisecond})
	client := rawgrpc.Dial(t, s.address)
	await.Eventually(t, "the connection is known", func() bool { return len(s.conns.list()) == 1 })
	ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: s.conns.list()[0].RemoteAddr()})
	pass := func() interface{ Free() } {
		a, refused := encode(ctx, &pb.ModelInferResponse{RawOutputContents: [][]byte{make([]byte, mib)}})
		if refused != nil {
			t.Fatal(refused)
		}
		data, err := codec{encoding.GetCodecV2("proto")}.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	taken := pass()
	if got := b.Stats().Used; got < mib+connCost {
		t.Errorf("got %d bytes charged, want the answer's too", got)
	}
	taken.Free()
	if got := b.Stats().Used; got != connCost {
		t.Errorf("got %d bytes charged after it was taken, want %d", got, connCost)
	}
	pass() // gRPC never writes it
	await.Eventually(t, "the connection is closed and all is free", func() bool { return b.Stats().Used == 0 })
	if got := client.Ended(1); got != "closed" {
		t.Errorf("got %q, want the connection closed", got)
	}
}
