package api

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestSeveralGRPC_GRPCChoosesModel by its name, and counts the calls for the server.
func TestSeveralGRPC_GRPCChoosesModel(t *testing.T) {
	t.Parallel()
	s, _ := harness.StartTwoModels(t, "--grpc-port=0")
	_, client := s.GRPC()
	for _, name := range []string{"a", "b"} {
		got := assert.Must(client.ModelInfer(t.Context(),
			&pb.ModelInferRequest{ModelName: name, Inputs: []*pb.ModelInferRequest_InferInputTensor{{
				Name: "text", Datatype: "BYTES", Shape: []int64{1},
				Contents: &pb.InferTensorContents{BytesContents: [][]byte{[]byte("x")}},
			}}}))(t)
		out := string(got.GetOutputs()[0].GetContents().GetBytesContents()[0])
		assert.True(t, got.GetModelName() == name && strings.Contains(out, name+" 3."),
			"%s answers %q as %s, want GetModelName %q and out with %q", name, out, got.GetModelName(), name, name+" 3.")
	}
	_, err := client.ModelReady(t.Context(), &pb.ModelReadyRequest{Name: "bb"})
	want := `this server has "a", "b"; did you mean "b"?`
	assert.True(t, status.Code(err) == codes.NotFound && strings.Contains(err.Error(), want),
		"an unknown one: %v, want Code %v and err with %q", err, codes.NotFound, want)
	page := string(s.Do(http.MethodGet, "/metrics", nil).Body)
	assert.Contains(t, "/metrics", page, `pinion_grpc_requests_total{code="OK",method="ModelInfer"} 2`)
}
