package tests

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

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
	return folder(t, "metered.py", metered)
}

// families are a server's metrics.
type families map[string]*dto.MetricFamily

// scrape reads a server's metrics as Prometheus does.
func scrape(t testing.TB, s *harness.Server) families {
	t.Helper()
	a := s.Do(http.MethodGet, "/metrics", nil)
	if a.Code != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("GET /metrics: %s %s", a.Header.Get("Content-Type"), a)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(bytes.NewReader(a.Body))
	if err != nil {
		t.Fatalf("read the metrics: %v in\n%s", err, a.Body)
	}
	return all
}

// value is a sample: of a histogram or summary, how many there were. labels are pairs of names and values. A family
// without such a sample is 0.
func (f families) value(name string, labels ...string) float64 {
	family := f[name]
	for _, m := range family.GetMetric() {
		if !labelled(m, labels) {
			continue
		}
		switch family.GetType() {
		case dto.MetricType_COUNTER:
			return m.GetCounter().GetValue()
		case dto.MetricType_HISTOGRAM:
			return float64(m.GetHistogram().GetSampleCount())
		case dto.MetricType_SUMMARY:
			return float64(m.GetSummary().GetSampleCount())
		default:
			return m.GetGauge().GetValue()
		}
	}
	return 0
}

// sum is the sum of a histogram without labels.
func (f families) sum(name string) float64 {
	return f[name].GetMetric()[0].GetHistogram().GetSampleSum()
}

func labelled(m *dto.Metric, pairs []string) bool {
	has := map[string]string{}
	for _, l := range m.GetLabel() {
		has[l.GetName()] = l.GetValue()
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if has[pairs[i]] != pairs[i+1] {
			return false
		}
	}
	return true
}

// ends is how many predictions of that mode ended so.
func (f families) ends(mode, status, reason string) float64 {
	return f.value("pinion_predictions_total", "mode", mode, "status", status, "reason", reason)
}

func TestMetricsCountHowPredictionsEnded(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Dir: meteredModel(t), Model: "metered.py:Runner"})
		for n := range 3 {
			s.Succeed(input{"tokens": n + 1})
		}
		s.Fail(input{"how": "raise", "tokens": 4})
		wantCode(t, "what does not fit", s.Input(input{"tokens": "many"}), http.StatusUnprocessableEntity)
		s.Fail(input{"file": "http://127.0.0.1:1/no-server-listens"})
		wantCode(t, "an asynchronous one", s.Create(map[string]any{"id": "a", "input": input{}}, "Prefer", "respond-async"),
			http.StatusAccepted)
		harness.Eventually(t, "it ends", func() bool { return scrape(t, s).ends("async", "succeeded", "") == 1 })

		blocked := s.Begin("b", input{"how": "block"})
		s.WaitLog("begun")
		wantCode(t, "one too many", s.Input(input{}), http.StatusConflict)
		if f := scrape(t, s); f.value("pinion_predictions_in_flight") != 1 || f.value("pinion_slots") != 1 ||
			f.value("pinion_queue_length") != 0 {
			t.Errorf("in flight %v, slots %v, queue %v", f["pinion_predictions_in_flight"], f["pinion_slots"],
				f["pinion_queue_length"])
		}
		wantCode(t, "cancel", s.Cancel("b"), http.StatusOK)
		wantStatus(t, "the canceled one", harness.Receive(t, blocked), "canceled")

		first := s.Worker()
		s.Fail(input{"how": "exit"})
		harness.Eventually(t, "another worker is ready", func() bool {
			f := scrape(t, s)
			return f.value("pinion_workers", "state", "ready") == 1 && s.Worker0() != first
		})

		f := scrape(t, s)
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
			same(t, fmt.Sprintf("%s, %s, %q", c.mode, c.status, c.reason), f.ends(c.mode, c.status, c.reason), c.want)
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
			if got := f.value(name); got != want || f[name] == nil {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		same(t, "the tokens", f["pinion_model_tokens"].GetMetric()[0].GetSummary().GetSampleSum(), 1+2+3+4)
		if f["pinion_model_text"] != nil {
			t.Error("a text is shown as a number")
		}
		wantWorkers(t, f, "exit", python.Version)
	})
}

// wantWorkers looks at what is said of one worker that followed on one that had exited for that cause.
func wantWorkers(t *testing.T, f families, cause, python string) {
	t.Helper()
	same(t, "exits by "+cause, f.value("pinion_worker_exits_total", "cause", cause), 1)
	same(t, "other exits", f.value("pinion_worker_exits_total", "cause", "setup")+
		f.value("pinion_worker_exits_total", "cause", "left"), 0)
	if got := f.value("pinion_worker_memory_bytes", "worker", "0"); got < 4<<20 || got > 1<<40 {
		t.Errorf("its memory is %v bytes", got)
	}
	if got := f.value("pinion_worker_cpu_seconds_total", "worker", "0"); got < 0 || got > 3600 {
		t.Errorf("its CPU time is %v s", got)
	}
	if got := f.value("pinion_worker_setup_seconds", "worker", "0"); got <= 0 || got > 3600 {
		t.Errorf("its setup took %v s", got)
	}
	if got := f.value("pinion_build_info", "python", python); got != 1 {
		t.Errorf("build_info is %v, want Python %s", f["pinion_build_info"], python)
	}
}

// TestMetricsOfOutputs: the first item is timed from the prediction's arrival, each other one from the one before.
// Predictions that emit no events while they run are not timed.
func TestMetricsOfOutputs(t *testing.T) {
	t.Parallel()
	dir := folder(t, "run.py", `from typing import Iterator
import time
from cog import streaming

@streaming
def run(items: int = 1, wait: float = 0) -> Iterator[str]:
    for n in range(items):
        time.sleep(wait)
        yield str(n)
`)
	s := harness.Ready(t, harness.Options{Dir: dir})
	s.Succeed(input{"items": 3})
	if f := scrape(t, s); f["pinion_time_to_first_output_seconds"] == nil ||
		f.value("pinion_time_to_first_output_seconds") != 0 {
		t.Errorf("a prediction without events: %v", f["pinion_time_to_first_output_seconds"])
	}
	wantCode(t, "an id", s.Create(map[string]any{"id": "a", "input": input{"items": 4, "wait": 0.02}}), http.StatusOK)
	wantCode(t, "a stream", s.Create(map[string]any{"input": input{"items": 2}}, "Accept", "text/event-stream"),
		http.StatusOK)
	wantCode(t, "no items", s.Create(map[string]any{"id": "b", "input": input{"items": 0}}), http.StatusOK)
	f := scrape(t, s)
	first, next := f.value("pinion_time_to_first_output_seconds"), f.value("pinion_time_per_output_seconds")
	if first != 2 || next != 3+1 {
		t.Errorf("%v first items and %v others, want 2 and 4", first, next)
	}
	if took := f.sum("pinion_time_to_first_output_seconds"); took < 0.02 {
		t.Errorf("the first items came after %v s, and one took 0.02 s", took)
	}
	// The first may have been late, and the second then comes sooner after it.
	if took := f.sum("pinion_time_per_output_seconds"); took < 2*0.02 {
		t.Errorf("the others came after %v s, and three took 0.02 s each", took)
	}
}

// TestMetricsOfTheQueue: what waits is seen to wait, and its time is part of the whole.
func TestMetricsOfTheQueue(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: meteredModel(t), Model: "metered.py:Runner",
		Args: []string{"--queue", "1"},
	})
	s.Succeed(input{})
	same(t, "the wait of one that found its slot free", scrape(t, s).sum("pinion_queue_seconds"), 0)
	first := s.Begin("b", input{"how": "block"})
	s.WaitLog("begun")
	second := s.Begin("c", input{})
	harness.Eventually(t, "the second one waits", func() bool { return scrape(t, s).value("pinion_queue_length") > 0 })
	wantCode(t, "one too many", s.Input(input{}), http.StatusTooManyRequests)
	wantCode(t, "cancel", s.Cancel("b"), http.StatusOK)
	harness.Receive(t, first)
	wantStatus(t, "the second one", harness.Receive(t, second), "succeeded")
	f := scrape(t, s)
	queue, predict, total := f.sum("pinion_queue_seconds"), f.sum("pinion_predict_seconds"),
		f.sum("pinion_prediction_duration_seconds")
	if queue <= 0 || predict <= 0 || queue+predict > total {
		t.Errorf("in the queue for %v s, in the model for %v s, of %v s", queue, predict, total)
	}
	if n := f.value("pinion_queue_seconds"); n != 3 || f.value("pinion_overhead_seconds") != 3 {
		t.Errorf("%v were timed, want 3", n)
	}
	same(t, "refused", f.ends("sync", "failed", "capacity"), 1)
}

func TestMetricsOfTimeouts(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: meteredModel(t), Model: "metered.py:Runner",
		Args: []string{"--queue", "4", "--queue-timeout", "1s", "--predict-timeout", "3s"},
	})
	blocked := s.Begin("b", input{"how": "block"})
	s.WaitLog("begun")
	wantCode(t, "one that waits too long", s.Input(input{}), http.StatusRequestTimeout)
	wantStatus(t, "the one that runs too long", harness.Receive(t, blocked), "failed")
	f := scrape(t, s)
	same(t, "timeouts", f.ends("sync", "failed", "timeout"), 2)
	same(t, "places of the queue", f.value("pinion_queue_capacity"), 4)
}

func TestMetricsOfWebhooks(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			w.WriteHeader(http.StatusGone)
		}
	}))
	defer receiver.Close()
	s := harness.Ready(t, harness.Options{Dir: meteredModel(t), Model: "metered.py:Runner"})
	for _, path := range []string{"/take", "/refuse"} {
		wantCode(t, path, s.Create(map[string]any{
			"input": input{}, "webhook": receiver.URL + path, "webhook_events_filter": []string{"completed"},
		}), http.StatusOK)
	}
	harness.Eventually(t, "both are told", func() bool {
		f := scrape(t, s)
		return f.value("pinion_webhook_deliveries_total", "event", "completed", "outcome", "delivered") == 1 &&
			f.value("pinion_webhook_deliveries_total", "event", "completed", "outcome", "failed") == 1
	})
}

func TestMetricsOfFiles(t *testing.T) {
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
	s.Succeed(input{"file": store.URL + "/some.txt"})
	s.Fail(input{"file": store.URL + "/none.txt"})
	f := scrape(t, s)
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
		n, bytes := f.value("pinion_file_transfers_total", labels...), f.value("pinion_file_transfer_bytes_total", labels...)
		if n != c.files || bytes != c.bytes {
			t.Errorf("%s %s: %v files of %v bytes, want %v of %v", c.direction, c.outcome, n, bytes, c.files, c.bytes)
		}
	}
	same(t, "predictions failed for their files", f.ends("sync", "failed", "files"), 1)
}

func TestMetricsOfAWorkerThatIsKilled(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Dir: meteredModel(t), Model: "metered.py:Runner"})
	first := s.Worker()
	kill(t, first, syscall.SIGKILL)
	harness.Eventually(t, "another is ready",
		func() bool { p := s.Worker0(); return p != 0 && p != first && s.Health().Status == "READY" })
	f := scrape(t, s)
	wantWorkers(t, f, "kill", harness.AnyPython(t).Version)
	same(t, "workers were started", f.value("pinion_worker_starts_total"), 2)
}

func TestMetricsBeforeSetupAndInOpenMetrics(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Dir: meteredModel(t), Model: "metered.py:Runner"})
	if f := scrape(t, s); f.value("pinion_build_info") != 1 || f["process_resident_memory_bytes"] == nil {
		t.Errorf("before setup: %v", f)
	}
	a := s.Do(http.MethodGet, "/metrics", nil, "Accept", "application/openmetrics-text; version=1.0.0, */*;q=0.1")
	if !strings.HasPrefix(a.Header.Get("Content-Type"), "application/openmetrics-text; version=1.0.0") ||
		!bytes.HasSuffix(a.Body, []byte("\n# EOF\n")) {
		t.Errorf("OpenMetrics is %s, ending in %q", a.Header.Get("Content-Type"), a.Body[max(0, len(a.Body)-20):])
	}
	head := s.Do(http.MethodHead, "/metrics", nil)
	if head.Code != http.StatusOK || len(head.Body) != 0 {
		t.Errorf("HEAD: %s", head)
	}
	wantCode(t, "POST", s.Do(http.MethodPost, "/metrics", "{}"), http.StatusMethodNotAllowed)
	s.WaitHealth("READY")
	same(t, "workers are ready", fmt.Sprint(scrape(t, s).value("pinion_workers", "state", "ready")), "1")
}
