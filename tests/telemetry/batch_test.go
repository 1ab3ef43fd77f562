package telemetry

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// batchSpans are models with batches that make spans. The first batch waits for a file.
const batchSpans = `import asyncio, os, time
from opentelemetry import trace
from cog import BasePredictor, batch, current_scope

tracer = trace.get_tracer("model")


class Sync(BasePredictor):
    @batch(max_size=8)
    def predict(self, text: list[str]) -> list[str]:
        with tracer.start_as_current_span("work"):
            if text == ["gate"]:
                open("closed", "w").close()
            while text == ["gate"] and not os.path.exists("gate"):
                time.sleep(0.01)
            if "bad" in text:
                raise ValueError("a bad text")
        return [current_scope().context.get("traceparent", "") for _ in text]


class Async(BasePredictor):
    @batch(max_size=8)
    async def predict(self, text: list[str]) -> list[str]:
        with tracer.start_as_current_span("work"):
            if text == ["gate"]:
                open("closed", "w").close()
            while text == ["gate"] and not os.path.exists("gate"):
                await asyncio.sleep(0.01)
        return [current_scope().context.get("traceparent", "") for _ in text]


class Staged(BasePredictor):
    def preprocess(self, text: str) -> str:
        with tracer.start_as_current_span("before " + text):
            return text

    @batch(max_size=8)
    def run(self, items: list[str]) -> list[str]:
        with tracer.start_as_current_span("work"):
            return items

    def postprocess(self, output: str) -> str:
        with tracer.start_as_current_span("after " + output):
            return output


class AsyncStaged(Staged):
    @batch(max_size=8)
    async def run(self, items: list[str]) -> list[str]:
        with tracer.start_as_current_span("work"):
            return items


def train(n: int = 1) -> str:
    with tracer.start_as_current_span("training"):
        return str(n)
`

// TestBatch_BatchesAreTraced: a batch has a span in a separate trace, with links to its sampled items; the model's
// spans are below it, and the items' spans say where they ran.
func TestBatch_BatchesAreTraced(t *testing.T) {
	t.Parallel()
	python := telemetryPython(t)
	for _, model := range []string{"Sync", "Async"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			dir := harness.NewFolder(t, "run.py", batchSpans, "cog.yaml", "train: run.py:train\n")
			c, s, begin := startGated(t, python, dir, "run.py:"+model)
			gate := begin("gate", "01")
			harness.WaitFile(t, filepath.Join(s.Dir, "closed"))
			answers := []<-chan harness.Answer{begin("a", "01"), begin("b", "01"), begin("c", "00")}
			harness.WaitInFlight(t, s, 4)
			harness.WriteFile(t, filepath.Join(s.Dir, "gate"), "")
			for _, a := range append(answers, gate) {
				harness.WantCode(t, "prediction", <-a, 200)
			}
			s.Do(http.MethodPost, "/trainings", map[string]any{"input": map[string]any{}}, "traceparent",
				"00-"+harness.ClientTrace+"-"+harness.ClientParent+"-01")
			s.Stop()
			checkBatch(t, c)
			for _, span := range modelSpans(c) {
				assert.True(t, span.Name != "training" || span.TraceID() == harness.ClientTrace,
					"the training's span is %v, want TraceID 0af7651916cd43dd8448eb211c80319c", span)
			}
		})
	}
}

// startGated starts a server with a collector. begin begins a prediction of the client's trace, with flags.
func startGated(t *testing.T, python, dir, model string) (
	*harness.Collector, *harness.Server, func(text, flags string) <-chan harness.Answer,
) {
	t.Helper()
	c := harness.StartCollector(t)
	s := harness.Ready(t, harness.Options{Dir: dir, Model: model, Python: python, Env: []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=50",
	}})
	return c, s, func(text, flags string) <-chan harness.Answer {
		answer := make(chan harness.Answer, 1)
		parent := "00-" + harness.ClientTrace + "-" + harness.ClientParent + "-" + flags
		go func() {
			body := map[string]any{"input": harness.Input{"text": text}}
			answer <- s.Do(http.MethodPost, "/predictions", body, "traceparent", parent)
		}()
		return answer
	}
}

func checkBatch(t *testing.T, c *harness.Collector) {
	t.Helper()
	spans := c.Spans()
	at := slices.IndexFunc(spans, func(s *harness.Span) bool {
		return s.Name == "pinion.batch" && s.Attrs()["pinion.batch.size"] == int64(3)
	})
	assert.TrueNow(t, at >= 0, "no batch of 3 among %v: got %d, want at least 0", spans, at)
	batch := spans[at]
	if a := batch.Attrs(); a["cog.slot.id"] != "0.0" || a["pinion.worker"] != int64(0) || batch.ParentID() != "" ||
		batch.Resource["cog.process.role"] != "worker" {
		t.Errorf("the batch has %v %v, want slot 0.0 of worker 0, no parent, and the worker's resource", a, batch)
	}
	links, items := map[string]bool{}, 0
	for _, l := range batch.Links {
		links[hex.EncodeToString(l.SpanId)] = true
	}
	assert.Equal(t, "links of the batch", len(links), 3)
	for _, span := range spans {
		switch a := span.Attrs(); {
		case span.Name == "work" && span.TraceID() == batch.TraceID():
			items++
			assert.Equal(t, "the model's span is below", span.ParentID(), batch.SpanID())
		case a["pinion.batch.size"] == int64(3) && span.Name == "cog.prediction":
			items++
			assert.True(t, links[span.SpanID()] && a["cog.slot.id"] == "0.0",
				"got an item %v, want it linked from the batch, on slot 0.0", span)
		case a["pinion.batch.size"] == int64(3) && span.Name == "cog.prediction.invoke":
			items++
			assert.EqualNow(t, "number of links", len(span.Links), 1)
			assert.Equal(t, "span of the first link", string(span.Links[0].SpanId), string(batch.SpanId))
		}
	}
	if items != 5 { // the model's span, and two of each sampled item
		t.Errorf("%d spans belong to the batch, of %v, want 5", items, spans)
	}
}

// TestBatch_StagesOfBatchesAreTraced: the model's spans in preprocess and postprocess are below the run of their item,
// also beside others.
func TestBatch_StagesOfBatchesAreTraced(t *testing.T) {
	t.Parallel()
	python := telemetryPython(t)
	dir := harness.NewFolder(t, "run.py", batchSpans)
	for _, model := range []string{"Staged", "AsyncStaged"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			c := harness.StartCollector(t)
			s := harness.Ready(t, harness.Options{
				Dir: dir, Model: "run.py:" + model, Python: python, Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL},
			})
			var requests sync.WaitGroup
			for i := range 6 {
				requests.Go(func() {
					body := map[string]any{"input": harness.Input{"text": strconv.Itoa(i)}}
					a := s.Do(http.MethodPost, "/predictions", body, "traceparent",
						fmt.Sprintf("00-%032x-%s-01", i+1, harness.ClientParent))
					harness.WantCode(t, fmt.Sprintf("prediction %d", i), a, 200)
				})
			}
			requests.Wait()
			s.Stop()
			runs, stages := map[string]string{}, 0
			for _, span := range c.Spans() {
				if span.Name == "cog.prediction.invoke" {
					runs[span.TraceID()] = span.SpanID()
				}
			}
			for _, span := range modelSpans(c) {
				if stage, text, _ := strings.Cut(span.Name, " "); stage != "work" {
					stages++
					item, _ := strconv.Atoi(text)
					if own := fmt.Sprintf("%032x", item+1); span.TraceID() != own || span.ParentID() != runs[own] {
						t.Errorf("%s is in trace %s below %s, want trace %s below the run of its item, %s", span.Name, span.TraceID(),
							span.ParentID(), own, runs[own])
					}
				}
			}
			assert.Equal(t, "the model's spans of stages", stages, 12)
		})
	}
}
