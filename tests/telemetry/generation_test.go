package telemetry

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// asked is a request to OpenAI's API, and the GenAI attributes that the span of each of its predictions must have
// beside the model's and the operation's.
type asked struct {
	body  string
	spans int
	want  map[string]any
}

// TestGenerations_HaveSpans: the span of a prediction for OpenAI's API says what was asked and answered, by
// OpenTelemetry's semantic conventions for GenAI.
func TestGenerations_HaveSpans(t *testing.T) {
	t.Parallel()
	says := func(text string) string { return `"model":"m","messages":[{"role":"user","content":"` + text + `"}]` }
	t.Run("chat", func(t *testing.T) {
		t.Parallel()
		stop := map[string]any{
			"gen_ai.request.stop_sequences":  []string{" c"},
			"gen_ai.response.finish_reasons": []string{"stop"},
		}
		checkGenerationSpans(t, "Chat", "/v1/chat/completions", "chat", []asked{
			{`{` + says("a long text") +
				`,"temperature":0.5,"top_p":1,"max_completion_tokens":10,"seed":3,"n":2,"presence_penalty":0}`, 2, map[string]any{
				"gen_ai.request.temperature": 0.5, "gen_ai.request.top_p": 1.0, "gen_ai.request.presence_penalty": 0.0,
				"gen_ai.request.max_tokens": int64(10), "gen_ai.request.seed": int64(3), "gen_ai.request.choice.count": int64(2),
				"gen_ai.usage.input_tokens": int64(1), "gen_ai.usage.output_tokens": int64(3),
				"gen_ai.response.finish_reasons": []string{"length"},
			}},
			{`{` + says("a b c d") + `,"stop":" c","stream":true}`, 1, stop},
			{`{` + says("a b c d") + `,"stop":" c"}`, 1, stop},
			{
				`{` + says("a fail") + `}`, 1,
				map[string]any{"gen_ai.usage.input_tokens": int64(1), "gen_ai.usage.output_tokens": int64(1)},
			},
			{`{` + says("?") + `,"tools":[{"type":"function","function":{"name":"f"}}],"stream":true}`, 1, map[string]any{
				"gen_ai.usage.input_tokens": int64(1), "gen_ai.usage.output_tokens": int64(1),
				"gen_ai.response.finish_reasons": []string{"tool_calls"},
			}},
		})
	})
	t.Run("responses", func(t *testing.T) {
		t.Parallel()
		checkGenerationSpans(t, "Chat", "/v1/responses", "chat", []asked{
			{`{"model":"m","input":"a b","temperature":0.5,"max_output_tokens":10,"stream":true}`, 1, map[string]any{
				"gen_ai.request.temperature": 0.5, "gen_ai.request.max_tokens": int64(10),
				"gen_ai.usage.input_tokens": int64(1), "gen_ai.usage.output_tokens": int64(2),
				"gen_ai.response.finish_reasons": []string{"stop"},
			}},
		})
	})
	t.Run("messages", func(t *testing.T) {
		t.Parallel()
		checkGenerationSpans(t, "Chat", "/v1/messages", "chat", []asked{
			{`{` + says("a b c d") + `,"max_tokens":10,"stop_sequences":[" c"]}`, 1, map[string]any{
				"gen_ai.request.max_tokens": int64(10), "gen_ai.request.stop_sequences": []string{" c"},
				"gen_ai.response.finish_reasons": []string{"stop"},
			}},
		})
	})
	t.Run("rerank", func(t *testing.T) {
		t.Parallel()
		checkGenerationSpans(t, "Ranker", "/v2/rerank", "rerank", []asked{
			{`{"model":"m","query":"a","documents":["a","b"]}`, 1, map[string]any{"gen_ai.usage.input_tokens": int64(2)}},
		})
	})
	t.Run("speech", func(t *testing.T) {
		t.Parallel()
		checkGenerationSpans(t, "Speaker", "/v1/audio/speech", "speech", []asked{
			{`{"model":"m","input":"a b","voice":"v"}`, 1, map[string]any{"gen_ai.usage.output_tokens": int64(2)}},
		})
	})
	t.Run("embeddings", func(t *testing.T) {
		t.Parallel()
		checkGenerationSpans(t, "Embedder", "/v1/embeddings", "embeddings", []asked{
			{
				`{"model":"m","input":["a","b"],"encoding_format":"base64"}`, 2,
				map[string]any{"gen_ai.request.encoding_formats": []string{"base64"}},
			},
		})
	})
}

func checkGenerationSpans(t *testing.T, class, route, operation string, requests []asked) {
	t.Helper()
	c := harness.StartCollector(t)
	s := harness.Ready(t, harness.Options{
		Model: "generative.py:" + class, Args: []string{"--model", "m", "--queue", "8"},
		Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL},
	})
	for i, r := range requests {
		s.Do("POST", route, []byte(r.body), "Traceparent", fmt.Sprintf("00-%032x-%016x-01", i+1, 1))
	}
	s.Stop()
	for i, r := range requests {
		server, found := "", []*harness.Span{}
		for _, span := range c.Spans() {
			switch {
			case span.TraceID() != fmt.Sprintf("%032x", i+1):
			case span.Name == "POST "+route:
				server = span.SpanID()
			case span.Name == "cog.prediction":
				found = append(found, span)
			}
		}
		assert.Equal(t, r.body+": spans of predictions", len(found), r.spans)
		want := maps.Clone(r.want)
		maps.Copy(want, map[string]any{
			"gen_ai.operation.name": operation, "gen_ai.provider.name": "pinion", "gen_ai.request.model": "m",
			"gen_ai.response.model": "m",
		})
		for _, span := range found {
			got := span.Attrs()
			maps.DeleteFunc(got, func(key string, _ any) bool {
				// What a model recorded that was canceled at a stop sequence depends on when it was.
				return !strings.HasPrefix(key, "gen_ai.") ||
					strings.Contains(r.body, `"stop`) && strings.HasPrefix(key, "gen_ai.usage.")
			})
			assert.True(t, reflect.DeepEqual(got, want) && span.ParentID() == server,
				"%s\n got %v below %q\nwant %v below %q", r.body, got, span.ParentID(), want, server)
		}
	}
}
