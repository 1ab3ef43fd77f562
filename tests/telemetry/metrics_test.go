package telemetry

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// metered is a model that ends in every way and records what its input asks for.
const metered = `
import os
import signal
from typing import Optional

from cog import BaseRunner, Path, current_scope


class Runner(BaseRunner):
    def run(self, how: str = "", tokens: int = 0, file: Optional[Path] = None) -> str:
        current_scope().record_metric("tokens", tokens)
        current_scope().record_metric("text", "none to be counted")
        if how == "raise":
            raise ValueError("as asked")
        if how == "exit":
            os._exit(3)
        if how == "block":
            print("begun")
            signal.pause()
        return how
`

// meteredModel is a folder with that model.
func meteredModel(t *testing.T) string {
	t.Helper()
	return harness.NewFolder(t, "metered.py", metered)
}

func TestMetrics_CountHowPredictionsEnded(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Dir: meteredModel(t), Model: "metered.py:Runner"})
		for n := range 3 {
			s.Succeed(harness.Input{"tokens": n + 1})
		}
		s.Fail(harness.Input{"how": "raise", "tokens": 4})
		harness.WantCode(t, "what does not fit", s.Input(harness.Input{"tokens": "many"}), http.StatusUnprocessableEntity)
		s.Fail(harness.Input{"file": "http://127.0.0.1:1/no-server-listens"})
		harness.WantCode(t, "an asynchronous one",
			s.Create(map[string]any{"id": "a", "input": harness.Input{}}, "Prefer", "respond-async"), http.StatusAccepted)
		assert.Eventually(t, "it ends", func() bool { return harness.Scrape(t, s).Ends("async", "succeeded", "") == 1 })

		blocked := s.Begin("b", harness.Input{"how": "block"})
		s.WaitLog("begun")
		harness.WantCode(t, "one too many", s.Input(harness.Input{}), http.StatusConflict)
		if f := harness.Scrape(t, s); f.Value("pinion_predictions_in_flight") != 1 || f.Value("pinion_slots") != 1 ||
			f.Value("pinion_queue_length") != 0 {
			t.Errorf("got in flight %v, slots %v, queue %v, want 1, 1 and 0", f["pinion_predictions_in_flight"],
				f["pinion_slots"], f["pinion_queue_length"])
		}
		harness.WantCode(t, "cancel", s.Cancel("b"), http.StatusOK)
		harness.WantStatus(t, "the canceled one", harness.Receive(t, blocked), "canceled")

		first := s.Worker()
		s.Fail(harness.Input{"how": "exit"})
		assert.Eventually(t, "another worker is ready", func() bool {
			f := harness.Scrape(t, s)
			return f.Value("pinion_workers", "state", "ready") == 1 && s.Worker0() != first
		})

		f := harness.Scrape(t, s)
		for _, c := range []struct {
			mode, status, reason string
			want                 float64
		}{
			{"sync", "succeeded", "", 3},
			{"async", "succeeded", "", 1},
			{"sync", "canceled", "", 1},
			{"sync", "failed", "model", 1},
			{"sync", "failed", "validation", 1},
			{"sync", "failed", "files", 1},
			{"sync", "failed", "capacity", 1},
			{"sync", "failed", "crash", 1},
			{"sync", "failed", "timeout", 0},
			{"stream", "succeeded", "", 0},
		} {
			assert.Equal(t, fmt.Sprintf("%s, %s, %q", c.mode, c.status, c.reason), f.Ends(c.mode, c.status, c.reason), c.want)
		}
		for name, want := range map[string]float64{
			"pinion_prediction_duration_seconds": 8, // the two refusals are not timed
			"pinion_queue_seconds":               8,
			"pinion_predict_seconds":             7, // nor what the model never had
			"pinion_overhead_seconds":            7,
			"pinion_predictions_in_flight":       0,
			"pinion_queue_capacity":              0,
			"pinion_worker_starts_total":         2,
			"pinion_model_tokens":                6, // the worker that died took the last one's with it
			"pinion_dropped_model_values_total":  0,
		} {
			got := f.Value(name)
			assert.True(t, got == want && f[name] != nil, "%s is %v, want %v", name, got, want)
		}
		assert.Equal(t, "the tokens", f["pinion_model_tokens"].GetMetric()[0].GetSummary().GetSampleSum(), 1+2+3+4)
		assert.True(t, f["pinion_model_text"] == nil, "a text is shown as a number: got %v, want nil", f["pinion_model_text"])
		wantWorkers(t, f, "exit", python.Version)
	})
}

// wantWorkers looks at what is said of one worker that followed on one that had exited for that cause.
func wantWorkers(t *testing.T, f harness.MetricFamilies, cause, python string) {
	t.Helper()
	assert.Equal(t, "exits by "+cause, f.Value("pinion_worker_exits_total", "cause", cause), 1)
	assert.Equal(t, "other exits", f.Value("pinion_worker_exits_total", "cause", "setup")+
		f.Value("pinion_worker_exits_total", "cause", "left"), 0)
	got := f.Value("pinion_worker_memory_bytes", "worker", "0")
	assert.True(t, got >= 4<<20 && got <= 1<<40, "its memory is %v bytes, want %v to %v", got, 4<<20, 1<<40)
	got = f.Value("pinion_worker_cpu_seconds_total", "worker", "0")
	assert.True(t, got >= 0 && got <= 3600, "its CPU time is %v s, want 0 to 3600", got)
	got = f.Value("pinion_worker_setup_seconds", "worker", "0")
	assert.True(t, got > 0 && got <= 3600, "its setup took %v s, want more than 0 and at most 3600", got)
	assert.True(t, f.Value("pinion_build_info", "python", python) == 1,
		"build_info is %v, want Python %s", f["pinion_build_info"], python)
}

// TestMetrics_OfOutputs: the first item is timed from the prediction's arrival, each other one from the one before.
// Predictions that emit no events while they run are not timed.
func TestMetrics_OfOutputs(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", `from typing import Iterator
import time
from cog import streaming

@streaming
def run(items: int = 1, wait: float = 0) -> Iterator[str]:
    for n in range(items):
        time.sleep(wait)
        yield str(n)
`)
	s := harness.Ready(t, harness.Options{Dir: dir})
	s.Succeed(harness.Input{"items": 3})
	if f := harness.Scrape(t, s); f["pinion_time_to_first_output_seconds"] == nil ||
		f.Value("pinion_time_to_first_output_seconds") != 0 {
		t.Errorf("a prediction without events: %v, want f non-nil and pinion_time_to_first_output_seconds 0",
			f["pinion_time_to_first_output_seconds"])
	}
	harness.WantCode(t, "an id", s.Create(map[string]any{"id": "a", "input": harness.Input{"items": 4, "wait": 0.02}}),
		http.StatusOK)
	harness.WantCode(t, "a stream",
		s.Create(map[string]any{"input": harness.Input{"items": 2}}, "Accept", "text/event-stream"), http.StatusOK)
	harness.WantCode(t, "no items", s.Create(map[string]any{"id": "b", "input": harness.Input{"items": 0}}), http.StatusOK)
	f := harness.Scrape(t, s)
	first, next := f.Value("pinion_time_to_first_output_seconds"), f.Value("pinion_time_per_output_seconds")
	assert.Equal(t, "first", first, 2)
	assert.Equal(t, "next", next, 3+1)
	took := f.Sum("pinion_time_to_first_output_seconds")
	assert.True(t, took >= 0.02, "the first items came after %v s, and one took 0.02 s, want at least 0.02", took)
	// The first may have been late, and the second then comes sooner after it.
	if took := f.Sum("pinion_time_per_output_seconds"); took < 2*0.02 {
		t.Errorf("the others came after %v s, and three took 0.02 s each, want at least %v", took, 2*0.02)
	}
}

// TestMetrics_OfQueue: what waits is seen to wait, and its time is part of the whole.
func TestMetrics_OfQueue(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: meteredModel(t), Model: "metered.py:Runner", Args: []string{"--queue", "1"},
	})
	s.Succeed(harness.Input{})
	assert.Equal(t, "the wait of one that found its slot free", harness.Scrape(t, s).Sum("pinion_queue_seconds"), 0)
	first := s.Begin("b", harness.Input{"how": "block"})
	s.WaitLog("begun")
	second := s.Begin("c", harness.Input{})
	assert.Eventually(t, "the second one waits",
		func() bool { return harness.Scrape(t, s).Value("pinion_queue_length") > 0 })
	harness.WantCode(t, "one too many", s.Input(harness.Input{}), http.StatusTooManyRequests)
	harness.WantCode(t, "cancel", s.Cancel("b"), http.StatusOK)
	harness.Receive(t, first)
	harness.WantStatus(t, "the second one", harness.Receive(t, second), "succeeded")
	f := harness.Scrape(t, s)
	queue, predict, total := f.Sum("pinion_queue_seconds"), f.Sum("pinion_predict_seconds"),
		f.Sum("pinion_prediction_duration_seconds")
	assert.True(t, queue > 0 && predict > 0 && queue+predict <= total,
		"in the queue for %v s, in the model for %v s, want both more than 0, and at most %v together", queue, predict, total)
	n := f.Value("pinion_queue_seconds")
	assert.True(t, n == 3 && f.Value("pinion_overhead_seconds") == 3, "%v were timed, want 3", n)
	assert.Equal(t, "refused", f.Ends("sync", "failed", "capacity"), 1)
}

func TestMetrics_OfTimeouts(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: meteredModel(t), Model: "metered.py:Runner",
		Args: []string{"--queue", "4", "--queue-timeout", "1s", "--predict-timeout", "3s"},
	})
	blocked := s.Begin("b", harness.Input{"how": "block"})
	s.WaitLog("begun")
	harness.WantCode(t, "one that waits too long", s.Input(harness.Input{}), http.StatusRequestTimeout)
	harness.WantStatus(t, "the one that runs too long", harness.Receive(t, blocked), "failed")
	f := harness.Scrape(t, s)
	assert.Equal(t, "timeouts", f.Ends("sync", "failed", "timeout"), 2)
	assert.Equal(t, "places of the queue", f.Value("pinion_queue_capacity"), 4)
}

func TestMetrics_OfWebhooks(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			w.WriteHeader(http.StatusGone)
		}
	}))
	defer receiver.Close()
	s := harness.Ready(t, harness.Options{Dir: meteredModel(t), Model: "metered.py:Runner"})
	for _, path := range []string{"/take", "/refuse"} {
		harness.WantCode(t, path, s.Create(map[string]any{
			"input": harness.Input{}, "webhook": receiver.URL + path, "webhook_events_filter": []string{"completed"},
		}), http.StatusOK)
	}
	assert.Eventually(t, "both are told", func() bool {
		f := harness.Scrape(t, s)
		return f.Value("pinion_webhook_deliveries_total", "event", "completed", "outcome", "delivered") == 1 &&
			f.Value("pinion_webhook_deliveries_total", "event", "completed", "outcome", "failed") == 1
	})
}

func TestMetrics_OfFiles(t *testing.T) {
	t.Parallel()
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/some.txt":
			_, _ = w.Write([]byte("hello"))
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer store.Close()
	s := harness.Ready(t, harness.Options{Model: "filing.py:upper", Args: []string{"--upload-url", store.URL}})
	s.Succeed(harness.Input{"file": store.URL + "/some.txt"})
	s.Fail(harness.Input{"file": store.URL + "/none.txt"})
	f := harness.Scrape(t, s)
	for _, c := range []struct {
		direction, outcome string
		files, bytes       float64
	}{
		{"download", "succeeded", 1, 5},
		{"download", "failed", 1, 0},
		{"download", "canceled", 0, 0},
		{"upload", "succeeded", 1, 5},
		{"upload", "failed", 0, 0},
	} {
		labels := []string{"direction", c.direction, "outcome", c.outcome}
		n, bytes := f.Value("pinion_file_transfers_total", labels...), f.Value("pinion_file_transfer_bytes_total", labels...)
		assert.True(t, n == c.files && bytes == c.bytes,
			"%s %s: %v files of %v bytes, want %v of %v", c.direction, c.outcome, n, bytes, c.files, c.bytes)
	}
	assert.Equal(t, "predictions failed for their files", f.Ends("sync", "failed", "files"), 1)
}

func TestMetrics_OfWorkerThatIsKilled(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Dir: meteredModel(t), Model: "metered.py:Runner"})
	first := s.Worker()
	harness.SendSignal(t, first, syscall.SIGKILL)
	assert.Eventually(t, "another is ready",
		func() bool { p := s.Worker0(); return p != 0 && p != first && s.Health().Status == "READY" })
	f := harness.Scrape(t, s)
	wantWorkers(t, f, "kill", harness.AnyPython(t).Version)
	assert.Equal(t, "workers were started", f.Value("pinion_worker_starts_total"), 2)
}

func TestMetrics_BeforeSetupAndInOpenMetrics(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Dir: meteredModel(t), Model: "metered.py:Runner"})
	if f := harness.Scrape(t, s); f.Value("pinion_build_info") != 1 || f["process_resident_memory_bytes"] == nil {
		t.Errorf("before setup: %v, want pinion_build_info 1 and f non-nil", f)
	}
	a := s.Do(http.MethodGet, "/metrics", nil, "Accept", "application/openmetrics-text; version=1.0.0, */*;q=0.1")
	assert.True(t, strings.HasPrefix(a.Header.Get("Content-Type"), "application/openmetrics-text; version=1.0.0") &&
		bytes.HasSuffix(a.Body, []byte("\n# EOF\n")), "OpenMetrics is %s, ending in %q, want version 1.0.0, ending in %q",
		a.Header.Get("Content-Type"), a.Body[max(0, len(a.Body)-20):], "\n# EOF\n")
	head := s.Do(http.MethodHead, "/metrics", nil)
	assert.Equal(t, "HEAD: code", head.Code, http.StatusOK)
	assert.Equal(t, "HEAD: length of the body", len(head.Body), 0)
	harness.WantCode(t, "POST", s.Do(http.MethodPost, "/metrics", "{}"), http.StatusMethodNotAllowed)
	s.WaitHealth("READY")
	assert.Equal(t, "workers are ready", fmt.Sprint(harness.Scrape(t, s).Value("pinion_workers", "state", "ready")), "1")
}
