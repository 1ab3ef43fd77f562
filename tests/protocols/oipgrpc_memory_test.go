package protocols

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestOIPGRPCMemory_GRPCMessagesShareMemory: many large messages at once do not fill it, in calls, in streams,
// compressed or not. Each is answered, or refused so that its client may try again.
func TestOIPGRPCMemory_GRPCMessagesShareMemory(t *testing.T) {
	t.Parallel()
	s, before := harness.StartConfined(t, "run.py:returned", 256, "--model", "m", "--grpc-port=0", "--queue", "100",
		"--queue-timeout",
		"5m")
	request := func(size int) *pb.ModelInferRequest {
		return &pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{{
			Name: "text", Datatype: "BYTES", Shape: []int64{1},
			Contents: &pb.InferTensorContents{BytesContents: [][]byte{bytes.Repeat([]byte("t"), size)}},
		}}}
	}
	// A connection for each: gRPC bounds what one holds.
	call := func(options ...grpc.CallOption) func(int) error {
		return func(int) error {
			_, client := s.GRPC()
			_, err := client.ModelInfer(context.Background(), request(60_000_000), options...) // never fits
			if code := status.Code(err); code != codes.ResourceExhausted && code != codes.Unavailable {
				return fmt.Errorf("a large message: %w", err)
			}
			return nil
		}
	}
	stream := func(int) error {
		_, client := s.GRPC()
		stream, err := client.ModelStreamInfer(context.Background())
		if err != nil {
			return err
		}
		for range 2 {
			if err := stream.Send(request(20_000_000)); err != nil {
				return err
			}
			if _, err := stream.Recv(); err != nil { // a refusal is in the response
				return err
			}
		}
		return nil
	}
	const many = 12
	harness.RunClients(t, many, call())
	harness.RunClients(t, many, call(grpc.UseCompressor(gzip.Name)))
	harness.RunClients(t, many, stream)
	_, client := s.GRPC()
	_, err := client.ModelInfer(t.Context(), request(15<<20))
	assert.True(t, err == nil, "one that fits: got %v, want no error", err)
	assert.Eventually(t, "nothing is left in use",
		func() bool { used, _, _ := harness.MemoryBudget(t, s); return used < 9<<20 })
	harness.WaitResident(t, s, before)
}

// TestOIPGRPCMemory_GRPCElementsShareMemory: elements take many times their bytes in a message once they are decoded,
// and parameters are copied for each row. Both count before that.
func TestOIPGRPCMemory_GRPCElementsShareMemory(t *testing.T) {
	t.Parallel()
	s, before := harness.StartConfined(t, "run.py:returned", 256, "--model", "m", "--grpc-port=0")
	input := func(name, datatype string, n int64, contents *pb.InferTensorContents) *pb.ModelInferRequest {
		return &pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{{
			Name: name, Datatype: datatype, Shape: []int64{n}, Contents: contents,
		}}}
	}
	const many = 15_000_000
	rows := input("size", "INT64", 16_000, &pb.InferTensorContents{Int64Contents: make([]int64, 16_000)})
	rows.Parameters = map[string]*pb.InferParameter{
		"text": {ParameterChoice: &pb.InferParameter_StringParam{StringParam: strings.Repeat("t", 1<<20)}},
	}
	raw := input("size", "INT8", many, nil)
	raw.RawInputContents = [][]byte{make([]byte, many)}
	for name, c := range map[string]struct {
		request *pb.ModelInferRequest
		code    codes.Code
		text    string
	}{
		"empty texts": {
			input("text", "BYTES", many, &pb.InferTensorContents{BytesContents: make([][]byte, many)}),
			codes.ResourceExhausted, "memory budget",
		},
		"packed numbers": {
			input("size", "INT64", many, &pb.InferTensorContents{Int64Contents: make([]int64, many)}),
			codes.ResourceExhausted, "memory budget",
		},
		"a parameter a row":   {rows, codes.ResourceExhausted, "memory budget"},
		"a binary row a byte": {raw, codes.InvalidArgument, "send at most"},
	} {
		harness.RunClients(t, 4, func(int) error {
			_, client := s.GRPC()
			_, err := client.ModelInfer(context.Background(), c.request)
			text := fmt.Sprint(err)
			// Where memory is short, one waits too long or is cut off, and a busy machine makes any of these slow.
			short := c.code == codes.ResourceExhausted && status.Code(err) == codes.Unavailable
			if !short && (status.Code(err) != c.code || !strings.Contains(text, c.text)) {
				return fmt.Errorf("%s: %.300w", name, err)
			}
			return nil
		})
	}
	_, client := s.GRPC()
	if _, err := client.ModelInfer(t.Context(),
		input("text", "BYTES", 1, &pb.InferTensorContents{BytesContents: [][]byte{[]byte("t")}})); err != nil {
		t.Errorf("a small one: got %v, want no error", err)
	}
	assert.Eventually(t, "nothing is left in use",
		func() bool { used, _, _ := harness.MemoryBudget(t, s); return used < 9<<20 })
	harness.WaitResident(t, s, before)
}

// TestOipgrpcMemory_GRPCRefusesWhatIsTooLarge: the limit holds for messages as sent, for their content, and for calls
// without tensors.
func TestOipgrpcMemory_GRPCRefusesWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	s := tensors(t, "Raw", "--grpc-port=0", "--max-body=100000")
	_, client := s.GRPC()
	large := &pb.ModelInferRequest{ModelName: "m", RawInputContents: [][]byte{make([]byte, 200_000)}}
	_, err := client.ModelInfer(t.Context(), large)
	wantRPC(t, err, codes.ResourceExhausted, "bytes; at most 100000 are taken (--max-body)")
	_, err = client.ModelInfer(t.Context(), large, grpc.UseCompressor(gzip.Name))
	wantRPC(t, err, codes.ResourceExhausted, "more than 100000 bytes after decompression")
	_, err = client.ModelReady(t.Context(), &pb.ModelReadyRequest{Name: string(make([]byte, 90_000))})
	wantRPC(t, err, codes.ResourceExhausted, "larger than max")
	stream := assert.Must(client.ModelStreamInfer(t.Context()))(t)
	_ = stream.Send(large)
	_, err = stream.Recv()
	wantRPC(t, err, codes.ResourceExhausted, "at most 100000")
}

func wantRPC(t *testing.T, err error, code codes.Code, text string) {
	t.Helper()
	assert.True(t, status.Code(err) == code, "the code is %v, want %v: %v", status.Code(err), code, err)
	assert.Contains(t, "the error", fmt.Sprint(err), text)
}

// TestGRPCAnswers_OfCompressedRequestsAreCharged: clients that compress, and take nothing of their answers. These
// count, and go with their connections.
func TestGRPCAnswers_OfCompressedRequestsAreCharged(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Model: "echo.py:text", Args: []string{"--model=m", "--grpc-port=0", "--queue=100"},
	})
	text := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(text)
	request := &pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{{
		Name: "text", Datatype: "BYTES", Shape: []int64{1},
		Contents: &pb.InferTensorContents{BytesContents: [][]byte{[]byte(hex.EncodeToString(text))}},
	}}}
	const many = 8
	var conns []*grpc.ClientConn
	for range many {
		conn, _ := s.GRPC()
		stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
			pb.GRPCInferenceService_ModelInfer_FullMethodName, grpc.UseCompressor(gzip.Name))
		if err == nil {
			err = stream.SendMsg(request)
		}
		if err == nil {
			err = stream.CloseSend()
		}
		assert.NoError(t, err)
		conns = append(conns, conn)
	}
	assert.Eventually(t, "all have been answered", func() bool {
		return strings.Contains(string(s.Do(http.MethodGet, "/metrics", nil).Body),
			fmt.Sprintf("\npinion_predictions_total{mode=\"sync\",reason=\"\",status=\"succeeded\"} %d\n", many))
	})
	assert.Eventually(t, "the answers alone count", func() bool {
		used, _, _ := harness.MemoryBudget(t, s)
		return used > many*2<<20 && used < many*3<<20
	})
	for _, conn := range conns {
		conn.Close()
	}
	assert.Eventually(t, "nothing is left in use",
		func() bool { used, _, _ := harness.MemoryBudget(t, s); return used < 1<<20 })
}
