package metrics

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// TestSeveral_FamiliesStandOnce: each family stands once, the samples of a model have its name among their labels in
// the order of the names, and what belongs to the server has none.
func TestSeveral_FamiliesStandOnce(t *testing.T) {
	var models []NamedSet
	several := Several{
		Server: New(Options{Scope: ScopeServer, Version: "1", Memory: func() memory.Stats { return memory.Stats{Used: 7} }}),
		Models: func() []NamedSet { return models },
	}
	for _, name := range []string{"a", "b"} {
		set := New(Options{Scope: ScopeModel, Version: "1"})
		set.Ended(predict.End{
			Kind: predict.KindPrediction, Mode: predict.Sync, Status: predict.Succeeded,
			Metrics: []byte(`{"tokens":2}`),
		})
		set.Request("/predictions", "POST", 200, time.Millisecond)
		models = append(models, NamedSet{Name: name, Set: set})
	}
	several.Server.Request("/metrics", "GET", 200, time.Millisecond)
	_, body := several.Write("")
	page := string(body)
	for _, line := range []string{
		`pinion_predictions_total{mode="sync",model="b",reason="",status="succeeded"} 1`,
		`pinion_http_requests_total{code="200",method="GET",route="/metrics"} 1`,
		`pinion_http_requests_total{code="200",method="POST",model="a",route="/predictions"} 1`,
		`pinion_model_tokens_sum{model="b"} 2`,
		`pinion_memory_used_bytes 7`,
	} {
		assert.Equal(t, "count of "+line, strings.Count(page, line+"\n"), 1)
	}
	var names []string
	for _, f := range append(several.Gather(), several.GatherConventional()...) {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	assert.Equal(t, fmt.Sprintf("a family is there twice: %q", names),
		len(slices.Compact(slices.Clone(names))), len(names))
}

// TestSeveral_MetricsLeaveWithTheirModel: also those that the server's own set has, so that they do not grow with each
// model that comes and goes, nor take the places of the next one's.
func TestSeveral_MetricsLeaveWithTheirModel(t *testing.T) {
	var models []NamedSet
	several := Several{Server: New(Options{Scope: ScopeServer}), Models: func() []NamedSet { return models }}
	for i := range maxGenerations + 1 {
		name := fmt.Sprint("m", i)
		models = []NamedSet{{Name: name, Version: "2", Set: New(Options{Scope: ScopeModel})}}
		several.Server.Generation(Generation{Operation: "chat", Model: name, Took: time.Second})
		several.Server.Generation(Generation{Operation: "chat", Model: name + "@2", Took: time.Second})
		var of []string
		for _, f := range several.GatherConventional() {
			if f.Name == "gen_ai.server.request.duration" {
				for _, sample := range f.Samples {
					of = append(of, sample.Labels[2].Value)
				}
			}
		}
		assert.EqualSlices(t, "models of the generations", of, []string{name, name + "@2"})
	}
	_, page := several.Write("")
	assert.Equal(t, "series of generations on the page",
		strings.Count(string(page), "gen_ai_server_request_duration_seconds_count{"), 2)
}
