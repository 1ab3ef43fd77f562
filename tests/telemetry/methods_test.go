package telemetry

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// methodSpans are models with a batched method that makes a span. Its first batch waits for a file.
const methodSpans = `import os, time
from opentelemetry import trace
import cog

tracer = trace.get_tracer("model")


class Async(cog.BaseRunner):
    @cog.batch(max_size=8, max_wait_ms=60_000)
    def step(self, text: list[str]) -> list[str]:
        with tracer.start_as_current_span("work"):
            if text == ["gate"]:
                open("closed", "w").close()
            while text == ["gate"] and not os.path.exists("gate"):
                time.sleep(0.01)
            if "bad" in text:
                raise ValueError("a bad text")
        return [cog.current_scope().context.get("traceparent", "") for _ in text]

    @cog.concurrent(max=8)
    async def run(self, text: str) -> str:
        open("runs-" + text, "w").close()
        return await self.step(text)


class Threads(Async):
    @cog.concurrent(max=8)
    def run(self, text: str) -> str:
        open("runs-" + text, "w").close()
        return self.step(text)
`

// TestMethods_BatchesAreTracedAndCounted: a batch of a method has a span with links to its predictions and above the
// model's, and is counted.
func TestMethods_BatchesAreTracedAndCounted(t *testing.T) {
	t.Parallel()
	python := telemetryPython(t)
	for _, model := range []string{"Async", "Threads"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			dir := harness.NewFolder(t, "run.py", methodSpans)
			c, s, begin := startGated(t, python, dir, "run.py:"+model)
			gate := begin("gate", "00")
			harness.WaitFile(t, filepath.Join(s.Dir, "closed"))
			answers := []<-chan harness.Answer{begin("a", "01"), begin("b", "00"), begin("bad", "01")}
			for _, text := range []string{"a", "b", "bad"} { // the next batch waits for predictions that run
				harness.WaitFile(t, filepath.Join(s.Dir, "runs-"+text))
			}
			harness.WriteFile(t, filepath.Join(s.Dir, "gate"), "")
			if got := harness.Receive(t, gate).Text(t); !regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-00$`).MatchString(got) {
				t.Errorf("context of the batch that is not sampled: got %q, want its flag to be 00", got)
			}
			for _, a := range answers {
				assert.Contains(t, "a prediction of the batch that raised", harness.Receive(t, a).Error, "a bad text")
			}
			checkMethodMetrics(t, s)
			s.Stop()
			checkMethodSpan(t, c)
		})
	}
}

func checkMethodMetrics(t *testing.T, s *harness.Server) {
	t.Helper()
	var got harness.MetricFamilies
	assert.Eventually(t, "both batches are counted", func() bool {
		got = harness.Scrape(t, s)
		return got.Value("pinion_method_batch_size", "method", "step") == 2
	})
	assert.Equal(t, "calls in batches", got.Sum("pinion_method_batch_size"), 4.0)
	for _, name := range []string{"pinion_method_batch_wait_seconds", "pinion_method_batch_seconds"} {
		assert.Equal(t, name, got.Value(name, "method", "step"), 2.0)
		sum := got.Sum(name)
		assert.True(t, sum > 0, "sum of %s: got %v, want more than 0", name, sum)
	}
}

func checkMethodSpan(t *testing.T, c *harness.Collector) {
	t.Helper()
	var batches, works []*harness.Span
	linked := map[string]bool{}
	for _, span := range c.Spans() {
		switch span.Name {
		case "pinion.batch":
			batches = append(batches, span)
		case "work":
			works = append(works, span)
		case "cog.prediction.invoke":
			linked[span.SpanID()] = true
		}
	}
	assert.EqualNow(t, "number of batches", len(batches), 1)
	assert.EqualNow(t, "number of work spans", len(works), 1)
	batch := batches[0]
	assert.Equal(t, "parent of the model's span", works[0].ParentID(), batch.SpanID())
	assert.Equal(t, "attributes", fmt.Sprint(batch.Attrs()),
		fmt.Sprint(map[string]any{"pinion.batch.method": "step", "pinion.batch.size": int64(3), "pinion.worker": int64(0)}))
	assert.Equal(t, "links", len(batch.Links), 3)
	found := 0
	for _, l := range batch.Links {
		if linked[hex.EncodeToString(l.SpanId)] {
			found++
		}
	}
	assert.Equal(t, "links to spans of sampled predictions", found, 2)
	assert.Contains(t, "the batch's failure", batch.Status.GetMessage(), "a bad text")
}
