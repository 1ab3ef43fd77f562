package api

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// branchingModel calls each model of a list, which then calls those of another.
const branchingModel = `
import cog

def run(to: list[str], then: list[str] = []) -> str:
    return " ".join(cog.call(name, to=then) for name in to) or "end"
`

// TestCallsTrace_ShowsTheTree: the prediction of a call is below the span in which its caller runs, at any depth.
func TestCallsTrace_ShowsTheTree(t *testing.T) {
	t.Parallel()
	c := harness.StartCollector(t)
	code, keys := map[string]string{}, map[string]string{}
	for _, name := range []string{"a", "b", "c", "d"} {
		code[name], keys[name] = branchingModel, ", predictor: run.py:run"
	}
	s, _ := callingModels(t, code, keys, harness.Options{Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL}})
	a := s.Do(http.MethodPost, "/models/a/predictions",
		map[string]any{"input": harness.Input{"to": []string{"b", "c"}, "then": []string{"d"}}},
		"traceparent", "00-"+harness.ClientTrace+"-"+harness.ClientParent+"-01")
	assert.Equal(t, "the output", a.Text(t), "end end")
	s.Stop()

	spans := map[string]*harness.Span{}
	for _, span := range c.Spans() {
		if span.TraceID() == harness.ClientTrace {
			spans[span.SpanID()] = span
		}
	}
	depth := func(span *harness.Span) (n int) { // in predictions
		for ; span != nil; span = spans[span.ParentID()] {
			if span.Name == "cog.prediction" {
				n++
			}
		}
		return n
	}
	var depths []int
	for _, span := range spans {
		if span.Name != "cog.prediction" {
			continue
		}
		depths = append(depths, depth(span))
		if above := spans[span.ParentID()]; depth(span) > 1 && above.Name != "cog.prediction.invoke" {
			t.Errorf("a prediction is below %s, want cog.prediction.invoke", above.Name)
		}
	}
	slices.Sort(depths)
	assert.Equal(t, "the depths of the predictions", fmt.Sprint(depths), "[1 2 2 3 3]")
}
