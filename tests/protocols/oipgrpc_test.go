package protocols

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestOipgrpc_TritonsGRPCClient has Triton's gRPC client ask models: tensors, rows, streams, metadata and errors.
func TestOipgrpc_TritonsGRPCClient(t *testing.T) {
	t.Parallel()
	tool := harness.Tool(t, "venvs/protocols/bin/python")
	client := harness.Absolute(t, "clients/triton_grpc.py")
	const small, large = "1000000", "100000000"
	for class, most := range map[string]string{
		"Scaler": small, "Writer": small, "Describer": large, "Echo": large,
		"Raw": small, "Lister": small, "Batched": small,
		"Same": small, "SameBatched": small, "Members": small, "Steps": small, "AsyncSteps": small,
	} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			s := tensors(t, class, "--grpc-port=0", "--max-body="+most)
			harness.RunTool(t, t.TempDir(), nil, tool, "-B", client, s.GRPCAddress(), class)
			page := string(s.Do(http.MethodGet, "/metrics", nil).Body)
			assert.Contains(t, "page", page, `pinion_grpc_requests_total{code="OK",method="ModelInfer"}`)
		})
	}
}

// TestOipgrpc_GRPCReflection finds the service's methods by reflection, as grpcurl does.
func TestOipgrpc_GRPCReflection(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "api/do.py:Runner", Args: []string{"--grpc-port=0"}})
	conn, _ := s.GRPC()
	stream := assert.Must(grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context()))(t)
	ask := func(req *grpc_reflection_v1.ServerReflectionRequest) *grpc_reflection_v1.ServerReflectionResponse {
		t.Helper()
		assert.NoError(t, stream.Send(req))
		return assert.Must(stream.Recv())(t)
	}
	services := ask(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{},
	})
	list := services.GetListServicesResponse().GetService()
	assert.Equal(t, "services", len(list), 3)
	for _, service := range list {
		answer := ask(&grpc_reflection_v1.ServerReflectionRequest{
			MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{
				FileContainingSymbol: service.GetName(),
			},
		})
		var file descriptorpb.FileDescriptorProto
		assert.NoError(t, proto.Unmarshal(answer.GetFileDescriptorResponse().GetFileDescriptorProto()[0], &file))
		name := service.GetName()[strings.LastIndexByte(service.GetName(), '.')+1:]
		if !slices.ContainsFunc(file.GetService(),
			func(s *descriptorpb.ServiceDescriptorProto) bool { return s.GetName() == name }) {
			t.Errorf("got no %s in its file %s, want it there", service.GetName(), file.GetName())
		}
	}
	unknown := ask(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileByFilename{FileByFilename: "none.proto"},
	})
	assert.Equal(t, fmt.Sprintf("an unknown file: %v", unknown),
		unknown.GetErrorResponse().GetErrorCode(), int32(codes.NotFound))
}

// TestOipgrpc_GRPCTokens: everything but probes needs a token.
func TestOipgrpc_GRPCTokens(t *testing.T) {
	t.Parallel()
	const token = "first-token-0123456789"
	s := harness.Ready(t, harness.Options{
		Model: "api/do.py:Runner", Args: []string{"--grpc-port=0", "--auth-token-file", harness.TokenFile(t, token)},
	})
	conn, client := s.GRPC()
	with := func(header string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "authorization", header)
	}
	for _, c := range []struct {
		ctx  context.Context
		want codes.Code
	}{
		{t.Context(), codes.Unauthenticated},
		{with("Bearer no-token-of-this-server"), codes.Unauthenticated},
		{with("Bearer " + token), codes.OK},
	} {
		_, err := client.ServerMetadata(c.ctx, &pb.ServerMetadataRequest{})
		assert.Equal(t, fmt.Sprintf("metadata: %v", err), status.Code(err), c.want)
		stream, err := client.ModelStreamInfer(c.ctx)
		if err == nil {
			_ = stream.CloseSend()
			_, err = stream.Recv()
		}
		assert.True(t, c.want != codes.Unauthenticated || status.Code(err) == c.want, "stream: %v, want %v", err, c.want)
	}
	unread, err := conn.NewStream(t.Context(), &grpc.StreamDesc{}, pb.GRPCInferenceService_ModelInfer_FullMethodName)
	assert.NoError(t, err)
	if err := unread.RecvMsg(new(pb.ModelInferResponse)); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a call whose message has not come: %v, want %v", err, codes.Unauthenticated)
	}
	health, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	assert.NoError(t, err)
	assert.Equal(t, "health: status", health.GetStatus(), grpc_health_v1.HealthCheckResponse_SERVING)
}

// doRequest asks the model api/do.py to carry these steps out.
func doRequest(id string, steps ...string) *pb.ModelInferRequest {
	return &pb.ModelInferRequest{
		ModelName: "m", Id: id,
		Inputs: []*pb.ModelInferRequest_InferInputTensor{{
			Name: "do", Datatype: "BYTES", Shape: []int64{int64(len(steps))},
			Contents: &pb.InferTensorContents{BytesContents: bytesOf(steps)},
		}},
	}
}

func bytesOf(texts []string) [][]byte {
	list := make([][]byte, len(texts))
	for i, text := range texts {
		list[i] = []byte(text)
	}
	return list
}

// TestOipgrpc_GRPCCancels: a deadline and a canceled stream cancel the prediction.
func TestOipgrpc_GRPCCancels(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "api/do.py:Runner", Args: []string{"--grpc-port=0", "--model=m"}})
	_, client := s.GRPC()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := client.ModelInfer(ctx, doRequest("1", "sleep")); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("past its deadline: %v, want %v", err, codes.DeadlineExceeded)
	}
	harness.WaitInFlight(t, s, 0) // after a deadline
	ctx, leave := context.WithCancel(t.Context())
	stream := assert.Must(client.ModelStreamInfer(ctx))(t)
	assert.NoError(t, stream.Send(doRequest("2", "sleep")))
	harness.WaitInFlight(t, s, 1)
	leave()
	harness.WaitInFlight(t, s, 0) // after a canceled stream
	answer, err := client.ModelInfer(t.Context(), doRequest("3", "return 1"))
	assert.True(t, err == nil && answer.GetId() == "3", "afterwards: %v, %v, want GetId 3", answer, err)
}

// TestOipgrpc_GRPCDrains: a call in flight is answered although the server stops, and an idle stream does not hold the
// server up.
func TestOipgrpc_GRPCDrains(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "api/do.py:Runner", Args: []string{"--grpc-port=0", "--model=m"}})
	_, client := s.GRPC()
	idle, err := client.ModelStreamInfer(t.Context())
	assert.NoError(t, err)
	gate := filepath.Join(s.Dir, "gate")
	assert.NoError(t, syscall.Mkfifo(gate, 0o600))
	answered := make(chan error, 1)
	go func() {
		_, err := client.ModelInfer(t.Context(), doRequest("1", "wait gate", "return 1"))
		answered <- err
	}()
	harness.WaitInFlight(t, s, 1)
	s.Signal(syscall.SIGTERM)
	_, err = idle.Recv()
	assert.True(t, status.Code(err) == codes.Unavailable, "the idle stream: %v, want %v", err, codes.Unavailable)
	assert.NoError(t, os.WriteFile(gate, nil, 0))
	err = harness.Receive(t, answered)
	assert.True(t, err == nil, "the call in flight: got %v, want no error", err)
}
