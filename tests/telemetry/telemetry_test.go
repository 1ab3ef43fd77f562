package telemetry

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const tracedModel = `from cog import BasePredictor, current_scope


class Predictor(BasePredictor):
    def predict(self, fail: bool = False) -> str:
        if fail:
            try:
                {}["voice"]
            except KeyError as error:
                raise ValueError("no such voice") from error
        return current_scope().context.get("traceparent", "")
`

// wantException checks the exception event of a span: the model's own exception, with those that led to it.
func wantException(t testing.TB, span *harness.Span) {
	t.Helper()
	assert.TrueNow(t, len(span.Events) == 1, "%s has %d events, want 1", span.Name, len(span.Events))
	got := harness.Attributes(span.Events[0].Attributes)
	assert.Equal(t, span.Name+": exception.type", got["exception.type"], any("ValueError"))
	assert.Equal(t, span.Name+": exception.message", got["exception.message"], any("no such voice"))
	stack, _ := got["exception.stacktrace"].(string)
	for _, want := range []string{"Traceback (most recent call last):\n", "KeyError: 'voice'\n", "in predict\n"} {
		assert.Contains(t, span.Name+": exception.stacktrace", stack, want)
	}
	assert.True(t, strings.HasSuffix(stack, "\nValueError: no such voice"), "%s: the stack ends otherwise: %q", span.Name, stack)
}

// TestTelemetry_PredictionIsTraced: its spans reach the collector, below the client's, by both protocols. The model has
// the context; an unsampled client sends nothing to the collector, and the model has its trace id all the same.
func TestTelemetry_PredictionIsTraced(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", tracedModel)
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		c := harness.StartCollector(t)
		url := map[string]string{"http/protobuf": c.URL, "grpc": c.GRPC}[protocol]
		s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:Predictor", Env: []string{
			"OTEL_EXPORTER_OTLP_ENDPOINT=" + url, "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol,
		}})
		const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
		unsampled := s.Do(http.MethodPost, "/predictions", map[string]any{"input": map[string]any{}}, "traceparent",
			"00-"+trace+"-"+parent+"-00")
		if got, _ := outputOf(t, unsampled).(string); len(got) != 55 || got[3:35] != trace || got[53:] != "00" {
			t.Errorf("the model of an unsampled client has the context %q, want its trace, not sampled", got)
		}
		answer := s.Do(http.MethodPost, "/predictions", map[string]any{
			"input": map[string]any{}, "context": map[string]string{"trace.user": "ann", "other": "x"},
		}, "traceparent", "00-"+trace+"-"+parent+"-01")
		failing := map[string]any{"input": map[string]any{"fail": true}}
		s.Do(http.MethodPost, "/predictions", failing, "traceparent", "malformed")
		s.Do(http.MethodPut, "/predictions/live", failing, "Prefer", "respond-async") // its logs are sent while it runs
		assert.Eventually(t, "the prediction without a waiting client ends", func() bool {
			return s.Do(http.MethodGet, "/predictions/live", nil).Status == "failed"
		})
		s.Stop()
		byName := map[string]*harness.Span{}
		raised := 0
		for _, span := range c.Spans() {
			if span.TraceID() != trace && (span.Name == "cog.prediction" || span.Name == "cog.prediction.invoke") {
				wantException(t, span)
				raised++
			}
			if span.TraceID() == trace {
				byName[span.Name] = span
			} else if span.Name == "cog.prediction" &&
				(span.Attrs()["error.type"] != "prediction_failed" || span.Attrs()["cog.prediction.status"] != "failed") {
				t.Errorf(`the failed prediction has %v, want Attrs()["error.type"] prediction_failed and Attrs failed`,
					span.Attrs())
			}
		}
		assert.Equal(t, "spans of the failed predictions with an exception", raised, 4)
		below := parent
		for _, name := range []string{
			"POST /predictions", "cog.prediction", "cog.prediction.execute",
			"cog.prediction.invoke",
		} {
			span := byName[name]
			assert.TrueNow(t, span != nil, "%s: no span %s among %v", protocol, name, byName)
			assert.Equal(t, fmt.Sprintf("%s: %s is below", protocol, name), span.ParentID(), below)
			below = span.SpanID()
		}
		assert.Equal(t, "the model has the context", outputOf(t, answer), any("00-"+trace+"-"+below+"-01"))
		a := byName["POST /predictions"].Attrs()
		assert.True(t, a["http.response.status_code"] == int64(200) && a["http.route"] == "/predictions",
			`the server's span has %v, want a %d and a["http.route"] "/predictions"`, a, int64(200))
		p := byName["cog.prediction"]
		a = p.Attrs()
		assert.True(t, a["caller.user"] == "ann" && a["cog.prediction.status"] == "succeeded" &&
			a["cog.prediction.response_mode"] == "sync" && a["cog.slot.id"] == "0.0" && a["pinion.worker"] == int64(0) &&
			len(a) == 6, "the prediction's span has %v, want its six attributes", a)
		assert.True(t, p.Resource["service.name"] == "cog" && p.Resource["cog.process.role"] == "parent" &&
			byName["cog.prediction.invoke"].Resource["cog.process.role"] == "worker",
			"the resource is %v, want cog, with the roles of the front and of the worker", p.Resource)
	}
}

func outputOf(t *testing.T, a harness.Answer) any {
	t.Helper()
	var output any
	a.Decode(t, &output)
	return output
}

// TestTelemetry_LogsAreSent: the server's and the model's lines reach the collector, with the trace of their
// prediction, which the JSON lines name too.
func TestTelemetry_LogsAreSent(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", "def run() -> str:\n    print('a line of the model')\n    return ''\n")
	c := harness.StartCollector(t)
	s := harness.Ready(t, harness.Options{
		Dir: dir, Model: "run.py:run", Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL},
	})
	s.Do(http.MethodPost, "/predictions", map[string]any{"input": map[string]any{}}, "traceparent",
		"00-"+harness.ClientTrace+"-"+harness.ClientParent+"-01")
	line := s.WaitLog("a line of the model")
	assert.Contains(t, "the line", line.Raw, `"trace_id":"`+harness.ClientTrace+`"`)
	s.Stop()
	prediction := ""
	for _, span := range c.Spans() {
		if span.Name == "cog.prediction" {
			prediction = span.SpanID()
		}
	}
	found := 0
	for _, l := range c.Logs() {
		switch l.Body.GetStringValue() {
		case "a line of the model":
			found++
			assert.True(t, hex.EncodeToString(l.TraceId) == harness.ClientTrace && hex.EncodeToString(l.SpanId) == prediction &&
				l.SeverityText == "INFO" && harness.Attributes(l.Attributes)["prediction_id"] != nil &&
				l.Resource["service.name"] == "cog",
				"the model's record is %v, want it at INFO, in the span %s of the client's trace", l, prediction)
		case "worker ready":
			found++
			assert.Equal(t, "bytes of the trace id of the server's record", len(l.TraceId), 0)
		}
	}
	assert.True(t, found == 2, "the records are %v: got %d, want 2", c.Logs(), found)
}
