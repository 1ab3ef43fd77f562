package telemetry

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	pb "pinion/httpd/oip/grpc/inferencepb"
	"pinion/tests/assert"
	"pinion/tests/harness"
)

// flag is a request for tracedModel; one with another name is refused.
func flag(name string, fail bool) *pb.ModelInferRequest {
	return &pb.ModelInferRequest{ModelName: "m", Inputs: []*pb.ModelInferRequest_InferInputTensor{{
		Name: name, Datatype: "BOOL", Shape: []int64{1}, Contents: &pb.InferTensorContents{BoolContents: []bool{fail}},
	}}}
}

// TestGRPC_CallsAreTraced: each call that makes predictions has a span below its client's, with its predictions below
// it; health and metadata have none. The model has the context, also of a client that is not sampled.
func TestGRPC_CallsAreTraced(t *testing.T) {
	t.Parallel()
	c := harness.StartCollector(t)
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", tracedModel), Model: "run.py:Predictor",
		Args: []string{"--grpc-port=0", "--model=m"}, Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL},
	})
	conn, client := s.GRPC()
	from := func(trace, flags string) metadata.MD {
		return metadata.Pairs("traceparent", "00-"+trace+"-"+harness.ClientParent+"-"+flags, "tracestate", "vendor=1")
	}
	const fine, refused, failed, streamed = "1af7651916cd43dd8448eb211c80319c", "2af7651916cd43dd8448eb211c80319c", "3af7651916cd43dd8448eb211c80319c", "4af7651916cd43dd8448eb211c80319c"
	infer := func(trace, flags string, req *pb.ModelInferRequest) *pb.ModelInferResponse {
		answer, _ := client.ModelInfer(metadata.NewOutgoingContext(t.Context(), from(trace, flags)), req)
		return answer
	}
	answer := infer(fine, "01", flag("fail", false))
	infer(refused, "01", flag("other", false))
	infer(failed, "01", flag("fail", true))
	const quiet = "5af7651916cd43dd8448eb211c80319c"
	unsampled := string(infer(quiet, "00", flag("fail", false)).GetOutputs()[0].GetContents().GetBytesContents()[0])
	assert.True(t, len(unsampled) == 55 && unsampled[3:35] == quiet && unsampled[53:] == "00",
		"the model of an unsampled client has the context %q, want its trace, not sampled", unsampled)
	stream, err := client.ModelStreamInfer(metadata.NewOutgoingContext(t.Context(), from(streamed, "01")))
	assert.NoError(t, err)
	for range 2 {
		assert.NoError(t, stream.Send(flag("fail", false)))
		_, err := stream.Recv()
		assert.NoError(t, err)
	}
	_ = stream.CloseSend()
	_, _ = stream.Recv() // its end
	sampled := metadata.NewOutgoingContext(t.Context(), from("6af7651916cd43dd8448eb211c80319c", "01"))
	_, err = grpc_health_v1.NewHealthClient(conn).Check(sampled, &grpc_health_v1.HealthCheckRequest{})
	assert.NoError(t, err)
	_, err = client.ModelMetadata(sampled, &pb.ModelMetadataRequest{Name: "m"})
	assert.NoError(t, err)
	s.Stop()

	spans := map[string]map[string][]*harness.Span{} // by trace and name
	for _, span := range c.Spans() {
		if span.Name == "cog.setup" || span.Name == "cog.setup.predictor" {
			continue
		}
		if spans[span.TraceID()] == nil {
			spans[span.TraceID()] = map[string][]*harness.Span{}
		}
		spans[span.TraceID()][span.Name] = append(spans[span.TraceID()][span.Name], span)
	}
	assert.Equal(t, fmt.Sprintf("traces of %v", spans), len(spans), 4)
	for trace, want := range map[string]struct {
		method, code string
		predictions  int
		failed       bool
	}{
		fine: {"ModelInfer", "OK", 1, false}, refused: {"ModelInfer", "INVALID_ARGUMENT", 0, false},
		failed: {"ModelInfer", "INTERNAL", 1, true}, streamed: {"ModelStreamInfer", "OK", 2, false},
	} {
		name := "inference.GRPCInferenceService/" + want.method
		calls, predictions := spans[trace][name], spans[trace]["cog.prediction"]
		if len(calls) != 1 || len(predictions) != want.predictions {
			t.Errorf("%s: %d calls and %d predictions: %v, want 1 and %d", trace, len(calls), len(predictions), spans[trace],
				want.predictions)
			continue
		}
		call := calls[0]
		assert.Equal(t, trace+": call.ParentID()", call.ParentID(), harness.ClientParent)
		assert.Equal(t, trace+": call.TraceState", call.TraceState, "vendor=1")
		assert.Equal(t, trace+": call.Kind.String()", call.Kind.String(), "SPAN_KIND_SERVER")
		a := call.Attrs()
		_, hasType := a["error.type"]
		if a["rpc.system.name"] != "grpc" || a["rpc.method"] != name || a["rpc.response.status_code"] != want.code ||
			hasType != want.failed ||
			(call.Status.GetCode().String() == "STATUS_CODE_ERROR") != want.failed {
			t.Errorf("%s: the call has %v, %v, want method %q, code %s, failed %t", trace, a, call.Status, name, want.code,
				want.failed)
		}
		for _, p := range predictions {
			assert.Equal(t, trace+": a prediction is below", p.ParentID(), call.SpanID())
		}
	}
	if invoked := spans[fine]["cog.prediction.invoke"]; len(invoked) != 1 {
		t.Errorf("the model's function has the spans %v, want 1", invoked)
	} else if got, want := string(answer.GetOutputs()[0].GetContents().GetBytesContents()[0]),
		"00-"+fine+"-"+invoked[0].SpanID()+"-01"; got != want {
		t.Errorf("the model has the context %s, want %s", got, want)
	}
}
