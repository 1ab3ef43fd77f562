package queue

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/tests/assert"
	"pinion/tests/harness"
)

// inferText is a request for a model of harness.SeveralModel.
func inferText(model, text string) *pb.ModelInferRequest {
	return &pb.ModelInferRequest{ModelName: model, Inputs: []*pb.ModelInferRequest_InferInputTensor{{
		Name: "text", Datatype: "BYTES", Shape: []int64{1},
		Contents: &pb.InferTensorContents{BytesContents: [][]byte{[]byte(text)}},
	}}}
}

// TestGatewayGRPC_IsWholeFront: with --grpc-port a gateway answers calls and streams, health, reflection and the index of
// the models that servers have.
func TestGatewayGRPC_IsWholeFront(t *testing.T) {
	t.Parallel()
	at := harness.StartNATSOf(t, "a", "b")
	g := harness.StartGatewayWith(t, at.URL, "--models", "a,b", "--grpc-port", "0")
	startSeveral(t, at.URL, t.TempDir(), []string{"a", "b"})
	line, _ := g.Log.Find("serving gRPC")
	conn := assert.Must(grpc.NewClient(line.GRPCAddress, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	defer conn.Close()
	client := pb.NewGRPCInferenceServiceClient(conn)
	for _, name := range []string{"a", "b"} {
		assert.Eventually(t, "the gateway knows the model "+name, func() bool {
			ready, err := client.ModelReady(t.Context(), &pb.ModelReadyRequest{Name: name})
			model, err2 := client.ModelMetadata(t.Context(), &pb.ModelMetadataRequest{Name: name})
			return err == nil && ready.GetReady() && err2 == nil && len(model.GetInputs()) == 3
		})
	}
	got := assert.Must(client.ModelInfer(t.Context(), inferText("b", "x")))(t)
	out := string(got.GetOutputs()[0].GetContents().GetBytesContents()[0])
	assert.True(t, strings.HasPrefix(out, "b 3."), "got %q, want the answer of b", out)

	stream := assert.Must(client.ModelStreamInfer(t.Context()))(t)
	for _, model := range []string{"a", "b"} {
		assert.NoError(t, stream.Send(inferText(model, "x")))
		answer, err := stream.Recv()
		assert.True(t, err == nil && answer.GetErrorMessage() == "" && answer.GetInferResponse().GetModelName() == model,
			"got %v, %v, want an answer of %s", answer, err, model)
	}

	probe := assert.Must(grpc_health_v1.NewHealthClient(conn).Check(t.Context(),
		&grpc_health_v1.HealthCheckRequest{Service: "inference.GRPCInferenceService"}))(t)
	assert.Equal(t, "status", probe.GetStatus(), grpc_health_v1.HealthCheckResponse_SERVING)
	listed := assert.Must(grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context()))(t)
	assert.NoError(t, listed.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{ListServices: "*"},
	}))
	services, err := listed.Recv()
	if err != nil || !slices.ContainsFunc(services.GetListServicesResponse().GetService(),
		func(s *grpc_reflection_v1.ServiceResponse) bool {
			return s.GetName() == "inference.GRPCInferenceService"
		}) {
		t.Errorf("got services %v, %v, want inference.GRPCInferenceService", services, err)
	}
	index, err := client.RepositoryIndex(t.Context(), &pb.RepositoryIndexRequest{})
	assert.True(t, err == nil && len(index.GetModels()) == 2 && index.GetModels()[1].GetName() == "b" &&
		index.GetModels()[1].GetState() == "READY", "got the index %v, %v, want a and b, ready", index, err)
	for code, call := range map[codes.Code]func() error{
		codes.NotFound: func() error { _, err := client.ModelInfer(t.Context(), inferText("c", "x")); return err },
		codes.PermissionDenied: func() error {
			_, err := client.RepositoryModelUnload(t.Context(), &pb.RepositoryModelUnloadRequest{ModelName: "a"})
			return err
		},
	} {
		err := call()
		assert.True(t, status.Code(err) == code, "got %v, want %v", err, code)
	}
}

// TestGateway_ReadsTokensAgain on SIGHUP, and goes on. A file with a mistake changes nothing.
func TestGateway_ReadsTokensAgain(t *testing.T) {
	t.Parallel()
	const first, second = "a-token-of-ada-with-enough-letters", "a-token-of-eve-with-enough-letters"
	at := harness.StartNATSOf(t, "a")
	file := harness.TokenFile(t, first)
	g := harness.StartGatewayWith(t, at.URL, "--models", "a", "--auth-token-file", file)
	wantCodes := func(ofFirst, ofSecond int) {
		t.Helper()
		for token, want := range map[string]int{first: ofFirst, second: ofSecond} {
			harness.WantCode(t, token, g.Do(http.MethodGet, "/models", nil, "Authorization", "Bearer "+token), want)
		}
	}
	wantCodes(http.StatusOK, http.StatusUnauthorized)
	harness.WriteTokens(t, file, second)
	harness.SendSignal(t, g.Cmd.Process.Pid, syscall.SIGHUP)
	assert.Eventually(t, "the tokens are read", func() bool { return g.Log.Count("tokens read") == 2 })
	wantCodes(http.StatusUnauthorized, http.StatusOK)
	harness.WriteTokens(t, file, "two words")
	harness.SendSignal(t, g.Cmd.Process.Pid, syscall.SIGHUP)
	assert.Eventually(t, "the file is refused", func() bool {
		return g.Log.Count("the tokens are not reloaded: those read before stay valid") == 1
	})
	wantCodes(http.StatusUnauthorized, http.StatusOK)
}

// TestGatewayGRPC_AsksForToken: with --auth-token-file a gateway answers gRPC calls with a token only, but for health.
func TestGatewayGRPC_AsksForToken(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-ada-with-enough-letters"
	at := harness.StartNATSOf(t, "a")
	g := harness.StartGatewayWith(t, at.URL, "--models", "a", "--grpc-port", "0", "--auth-token-file",
		harness.TokenFile(t, token))
	line, _ := g.Log.Find("serving gRPC")
	conn := assert.Must(grpc.NewClient(line.GRPCAddress, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	defer conn.Close()
	client := pb.NewGRPCInferenceServiceClient(conn)
	for sent, want := range map[string]codes.Code{
		"": codes.Unauthenticated, "Bearer another-token-with-enough-letters": codes.Unauthenticated,
		"Bearer " + token: codes.NotFound, // the call reaches the models
	} {
		ctx := t.Context()
		if sent != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", sent)
		}
		if _, err := client.ModelInfer(ctx, inferText("b", "x")); status.Code(err) != want {
			t.Errorf("ModelInfer with %q: got %v, want %v", sent, err, want)
		}
		stream := assert.Must(client.ModelStreamInfer(ctx))(t)
		if err := stream.Send(inferText("b", "x")); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if refused := status.Code(err) == codes.Unauthenticated; refused != (want == codes.Unauthenticated) {
			t.Errorf("a stream with %q: got %v, %v, want it refused: %v", sent, answer, err, want == codes.Unauthenticated)
		}
	}
	probe, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	assert.True(t, err == nil, "health without a token: got %v, %v, want an answer", probe, err)
}
