package metrics

import (
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
)

// TestGeneration_Names: the page has Prometheus's form of the names that OTLP sends, and a histogram without values is
// left out.
func TestGeneration_Names(t *testing.T) {
	s := New(Options{})
	s.Generation(Generation{Operation: "chat", Model: "m", Status: 200, Took: time.Second, FirstToken: time.Millisecond})
	s.Generation(Generation{Operation: "chat", Model: "m", Status: 429, Took: time.Millisecond})
	_, page := s.Write("")
	const labels = `gen_ai_operation_name="chat",gen_ai_provider_name="pinion",gen_ai_request_model="m"`
	for text, want := range map[string]bool{
		"gen_ai_server_request_duration_seconds_count{" + labels + "} 1\n":                       true,
		"gen_ai_server_request_duration_seconds_count{" + labels + `,error_type="429"} 1` + "\n": true,
		"gen_ai_server_time_to_first_token_seconds_count{" + labels + "} 1\n":                    true,
		"gen_ai_server_time_per_output_token":                                                    false,
	} {
		assert.True(t, strings.Contains(string(page), text) == want, "the page has %q: %t, want %t", text, !want, want)
	}
	names := map[string]int{}
	for _, f := range s.GatherConventional() {
		names[f.Name] = len(f.Samples)
	}
	assert.Equal(t, `names["gen_ai.server.request.duration"]`, names["gen_ai.server.request.duration"], 2)
	assert.Equal(t, `names["gen_ai.server.time_to_first_token"]`, names["gen_ai.server.time_to_first_token"], 1)
	family := s.GatherConventional()[1]
	assert.True(t, family.Samples[0].Labels[0].Name == "gen_ai.operation.name" && family.Unit == "s",
		"OTLP's labels were renamed: %+v, want Name gen_ai.operation.name and Unit s", family)
}
