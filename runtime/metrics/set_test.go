package metrics

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	prom "github.com/prometheus/common/model"

	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// parse reads the text page by Prometheus's own parser.
func parse(t testing.TB, s *Set) map[string]*dto.MetricFamily {
	t.Helper()
	_, body := s.Write("")
	parser := expfmt.NewTextParser(prom.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	assert.TrueNow(t, err == nil, "got %v, want no error in\n%s", err, body)
	return families
}

// lines returns the samples of the page whose name begins so, parted by line breaks.
func lines(s *Set, prefix string) string {
	_, body := s.Write("")
	var found []string
	for line := range strings.SplitSeq(string(body), "\n") {
		if strings.HasPrefix(line, prefix) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "\n")
}

// wantLines fails unless each of the lines is on the page, alone under its name and labels.
func wantLines(t *testing.T, s *Set, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		name, _, _ := strings.Cut(want, " ")
		assert.Equal(t, "lines", lines(s, name), want)
	}
}

func TestSet_EmptySetWritesPageThatCanBeRead(t *testing.T) {
	families := parse(t, New(Options{}))
	for name, f := range families {
		if name != strings.ToLower(name) || len(f.GetMetric()) == 0 || f.GetHelp() == "" {
			t.Errorf("%s: %v, want name %q, len(GetMetric) non-empty and GetHelp non-empty", name, f, strings.ToLower(name))
		}
		if counter := f.GetType() == dto.MetricType_COUNTER; counter != strings.HasSuffix(name, "_total") {
			t.Errorf("%s is a %s: got %t, want %t", name, f.GetType(), counter, strings.HasSuffix(name, "_total"))
		}
	}
	for _, name := range []string{
		"pinion_predictions_total", "pinion_worker_exits_total",
		"pinion_webhook_deliveries_total",
	} {
		assert.True(t, families[name] != nil, "%s is missing, and its first increase would be none", name)
	}
}

func TestSet_FormatIsWhatWasAskedFor(t *testing.T) {
	const open = "application/openmetrics-text"
	for accept, want := range map[string]bool{
		"":           false,
		"*/*":        false,
		"text/plain": false,
		"text/html,application/xhtml+xml,*/*;q=0.8": false,
		open:                                    true,
		open + "; version=1.0.0; charset=utf-8": true,
		open + `;version="1.0.0"`:               true,
		open + ";version=2.0.0":                 false,
		open + ";version=2.0.0;q=0.9, " + open + ";version=1.0.0;q=0.5": true,
		open + ";q=0":                     false,
		open + ";q=nonsense":              false,
		open + ";q=0.5, text/plain;q=0.9": false,
		open + ", */*":                    true,
		strings.ToUpper(open):             true,
		"application/vnd.google.protobuf;q=0.7," + open + ";q=0.6,*/*;q=0.1": true,
		// What Prometheus 3 sends.
		open + ";version=1.0.0;escaping=allow-utf-8;q=0.6," + open +
			";version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2": true,
		";;,,=": false,
	} {
		contentType, body := New(Options{}).Write(accept)
		got := bytes.HasSuffix(body, []byte("# EOF\n"))
		if got != want || strings.HasPrefix(contentType, open) != want ||
			!want && !strings.HasPrefix(contentType, "text/plain; version=0.0.4") {
			t.Errorf("%q: %s, OpenMetrics: %v, want %v", accept, contentType, got, want)
		}
	}
}

func TestSet_RequestsAreBounded(t *testing.T) {
	s := New(Options{})
	for i := range 2 * maxRequests {
		s.Request(fmt.Sprintf("/route%d", i), fmt.Sprintf("METHOD%d", i), 200, time.Millisecond)
	}
	s.Request("", "", -1, -time.Hour)
	s.Request("", "", 1000, 0)
	n := len(s.requests.snapshot())
	assert.True(t, n <= maxRequests+maxCodes, "%d combinations, want at most %d", n, maxRequests+maxCodes)
	total := uint64(0)
	for _, r := range s.requests.snapshot() {
		total += r.took.count()
	}
	assert.Equal(t, "counted requests", total, 2*maxRequests+2)
	want := fmt.Sprintf(`pinion_http_requests_total{code="200",method="other",route="other"} %d`, maxRequests)
	got := lines(s, `pinion_http_requests_total{code="200",method="other",route="other"}`)
	assert.True(t, got == want, "got  %s\nwant %s", got, want)
	parse(t, s)
}

// TestSet_WhatIsGivenIsNotKept: callers hand in pieces of buffers that are used again.
func TestSet_WhatIsGivenIsNotKept(t *testing.T) {
	s := New(Options{})
	metrics := []byte(`{"predict_time":1,"tokens":2}`)
	s.Recorded(metrics)
	copy(metrics, `{"predict_time":1,"frames":3}`)
	s.Recorded(metrics)
	want := "pinion_model_frames_sum 3\npinion_model_frames_count 1\npinion_model_tokens_sum 2\npinion_model_tokens_count 1"
	got := lines(s, "pinion_model_")
	assert.True(t, got == want, "got\n%s\nwant\n%s", got, want)
}

func TestSet_WhatModelRecords(t *testing.T) {
	long := strings.Repeat("x", maxName-1)
	deep := strings.Repeat(`{"a":`, maxDepth+2) + "1" + strings.Repeat("}", maxDepth+2)
	for _, c := range []struct {
		metrics, want string
		dropped       int
	}{
		{``, "", 0},
		{`null`, "", 0},
		{`{}`, "", 0},
		{`{"predict_time":0.5}`, "", 0},
		{`{"predict_time":0.5,"method_batches":{"decode":{"calls":2,"batch_size":1.5}}}`, "", 0},
		{`{"predict_time":0.5,"a":1.5,"b":0}`, "a_sum 1.5 a_count 1 b_sum 0 b_count 1", 0},
		{`{"a":{"b":{"c":1},"d":2}}`, "a_b_c_sum 1 a_b_c_count 1 a_d_sum 2 a_d_count 1", 0},
		{`{"a":{"predict_time":3}}`, "a_predict_time_sum 3 a_predict_time_count 1", 0},
		{`{"a":"1","b":true,"c":null,"d":[1,2]}`, "", 0},
		{`{"a":-1,"b":1e999,"c":1e300}`, "c_sum 1e+300 c_count 1", 2},
		{`{"a.b":1,"a-b":2,"A b":4}`, "A_b_sum 4 A_b_count 1 a_b_sum 3 a_b_count 2", 0},
		{`{"1":1,"\u00e9\n{":2}`, "1_sum 1 1_count 1 _____sum 2 _____count 1", 0},
		{`{"` + long + `":1,"` + long + `xx":2}`, long + "_sum 1 " + long + "_count 1", 1},
		{
			`{"tokens":1,"tokens_count":2,"tokens_sum":3,"tokens_max":4}`,
			"tokens_sum 1 tokens_count 1 tokens_max_sum 4 tokens_max_count 1", 2,
		},
		{`{"tokens_count":2,"tokens":1}`, "tokens_count_sum 2 tokens_count_count 1", 1},
		{deep, "", 1},
	} {
		s := New(Options{})
		s.Recorded([]byte(c.metrics))
		got := strings.ReplaceAll(strings.ReplaceAll(lines(s, "pinion_model_"), "pinion_model_", ""), "\n", " ")
		assert.Equal(t, c.metrics, got, c.want)
		n := s.model.dropped.Load()
		assert.True(t, n == uint64(c.dropped), "%.100s: %d were dropped, want %d", c.metrics, n, c.dropped)
		parse(t, s)
	}
}

func TestSet_ModelsNamesAreBounded(t *testing.T) {
	s := New(Options{MaxModel: 10})
	for i := range 30 {
		s.Recorded(fmt.Appendf(nil, `{"name%d":1}`, i))
	}
	s.Recorded([]byte(`{"name3":1,"name20":1}`))
	assert.Equal(t, "names", len(s.model.names.snapshot()), 10)
	assert.Equal(t, "values that are dropped", lines(s, "pinion_dropped_model_values_total"), "pinion_dropped_model_values_total 21")
	assert.Equal(t, "values", lines(s, "pinion_model_name3_count"), "pinion_model_name3_count 2")
}

func TestSet_TrainingsCountApart(t *testing.T) {
	s := New(Options{})
	assert.Equal(t, "before any training", lines(s, "pinion_training"), "")
	s.Ended(predict.End{
		Kind: predict.KindTraining, Mode: predict.Async, Status: predict.Succeeded,
		Times: predict.Times{Total: time.Hour, Predict: time.Hour},
	})
	wantLines(t, s,
		`pinion_trainings_total{mode="async",reason="",status="succeeded"} 1`,
		`pinion_training_duration_seconds_sum 3600`,
		`pinion_prediction_duration_seconds_count 0`,
		`pinion_predict_seconds_count 0`,
	)
}

func TestSet_RefusalsAreNotTimed(t *testing.T) {
	s := New(Options{})
	s.Refused(predict.KindPrediction, predict.Stream, predict.ReasonValidation)
	s.Refused(predict.KindPrediction, predict.Sync, "a reason that is none")
	wantLines(t, s,
		`pinion_predictions_total{mode="stream",reason="validation",status="failed"} 1`,
		`pinion_predictions_total{mode="sync",reason="model",status="failed"} 1`,
		`pinion_prediction_duration_seconds_count 0`,
	)
}

func TestSet_WorkersAreLookedAtWhenPageIsWritten(t *testing.T) {
	var now []Worker
	s := New(Options{Workers: func() []Worker { return now }})
	assert.Equal(t, "without a worker", lines(s, "pinion_worker_memory_bytes"), "")
	now = []Worker{
		{State: "starting"},
		{State: "ready", PID: os.Getpid(), Setup: 2 * time.Second},
		{State: "ready", PID: 1 << 30},
	}
	families := parse(t, s)
	assert.Equal(t, "workers with memory", len(families["pinion_worker_memory_bytes"].GetMetric()), 1)
	v := families["pinion_worker_memory_bytes"].GetMetric()[0].GetGauge().GetValue()
	assert.True(t, v >= 1<<20 && v <= 1<<40, "its memory is %v bytes, want %v to %v", v, 1<<20, 1<<40)
	assert.Equal(t, "setup", lines(s, "pinion_worker_setup_seconds"), `pinion_worker_setup_seconds{worker="1"} 2`)
	wantLines(t, s, `pinion_workers{state="ready"} 2`, `pinion_workers{state="starting"} 1`,
		`pinion_workers{state="gone"} 0`)
}

// plain records what a plain synchronous prediction records.
func plain(s *Set, metrics []byte) {
	s.Ended(predict.End{
		Status: predict.Succeeded, Metrics: metrics,
		Times: predict.Times{Total: 300 * time.Microsecond, Predict: 120 * time.Microsecond, Queue: 10 * time.Microsecond},
	})
	s.Request("/predictions", "POST", 200, 350*time.Microsecond)
}

var plainMetrics = []byte(`{"predict_time":0.000120}`)

func TestSet_RecordingAllocatesNothing(t *testing.T) {
	s := New(Options{})
	recorded := []byte(`{"predict_time":0.5,"tokens":17,"a":{"b":0.25}}`)
	plain(s, recorded)
	for name, f := range map[string]func(){
		"a plain prediction":   func() { plain(s, plainMetrics) },
		"one that records":     func() { plain(s, recorded) },
		"a refusal":            func() { s.Refused(predict.KindPrediction, predict.Sync, predict.ReasonCapacity) },
		"outputs":              func() { s.FirstOutput(time.Second, nil); s.NextOutput(time.Millisecond) },
		"a batch":              func() { s.Batch(8, time.Millisecond) },
		"a webhook's delivery": func() { s.Webhook("completed", "delivered") },
		"a transfer":           func() { s.Transfer("upload", "succeeded", 1<<20) },
	} {
		assert.Equal(t, "allocations of "+name, testing.AllocsPerRun(100, f), 0)
	}
}

func TestSet_NothingIsLostWhereManyRecord(t *testing.T) {
	s := New(Options{Load: func() Load { return Load{} }})
	const goroutines, each = 8, 500
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				plain(s, []byte(`{"tokens":2}`))
				s.Request("/predictions", "POST", 200+(g*each+i)%100, 0)
				s.Recorded(fmt.Appendf(nil, `{"n%d":1}`, i%20))
				s.WorkerExited(ExitCrash)
				s.Webhook("start", "failed")
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			parse(t, s)
		}
	})
	wg.Wait()
	wantLines(t, s,
		`pinion_prediction_duration_seconds_count 4000`,
		`pinion_model_tokens_sum 8000`,
		`pinion_model_tokens_count 4000`,
		`pinion_model_n7_count 200`,
		`pinion_worker_exits_total{cause="crash"} 4000`,
		`pinion_webhook_deliveries_total{event="start",outcome="failed"} 4000`,
		`pinion_http_requests_total{code="250",method="POST",route="/predictions"} 40`,
	)
}

func BenchmarkPlainPrediction(b *testing.B) {
	s := New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		plain(s, plainMetrics)
	}
}

func BenchmarkPlainPredictionParallel(b *testing.B) {
	s := New(Options{})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			plain(s, plainMetrics)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	s := New(Options{})
	plain(s, plainMetrics)
	for b.Loop() {
		s.Write("")
	}
}

func BenchmarkNextOutput(b *testing.B) {
	s, began := New(Options{}), time.Now()
	for b.Loop() {
		s.NextOutput(time.Since(began))
	}
}
