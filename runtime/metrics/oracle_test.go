package metrics

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/tests/assert"
)

// accepts are the two formats' Accept headers.
var accepts = map[string]string{"text": "text/plain", "openmetrics": "application/openmetrics-text; version=1.0.0"}

// theirs returns the page that the library writes of a registry.
func theirs(t *testing.T, r *prometheus.Registry, format string) string {
	t.Helper()
	families := assert.Must(r.Gather())(t)
	kind := expfmt.NewFormat(expfmt.TypeTextPlain)
	if format == "openmetrics" {
		kind = expfmt.NewFormat(expfmt.TypeOpenMetrics)
	}
	var b bytes.Buffer
	e := expfmt.NewEncoder(&b, kind)
	for _, f := range families {
		assert.NoError(t, e.Encode(f))
	}
	return b.String()
}

// blocks parts a page by its families. The samples of counters and gauges are put in the library's order, which has no
// meaning; that of a histogram's buckets has.
func blocks(page string) map[string]string {
	byName := map[string]string{}
	for part := range strings.SplitSeq(strings.TrimSuffix(page, "# EOF\n"), "# HELP ") {
		if part == "" {
			continue
		}
		name, _, _ := strings.Cut(part, " ")
		if !strings.Contains(part, "_bucket{") {
			samples := strings.Split(part, "\n")
			slices.Sort(samples[2:]) // after the help text and the type
			part = strings.Join(samples, "\n")
		}
		byName[name] = part
	}
	return byName
}

// TestOracle_PageIsWhatPrometheusOwnLibraryWrites: the same events, recorded in both.
func TestOracle_PageIsWhatPrometheusOwnLibraryWrites(t *testing.T) {
	r := prometheus.NewRegistry()
	buckets := func() (b []float64) {
		for _, d := range seconds() {
			b = append(b, d.Seconds())
		}
		return b
	}()
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		r.MustRegister(c)
		return c
	}
	histogram := func(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
		r.MustRegister(h)
		return h
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		r.MustRegister(g)
		return g
	}
	s := New(Options{
		Version:     `v1"\` + "\n",
		Model:       func() (string, string) { return "3.12.1", "0.23" },
		Load:        func() Load { return Load{InFlight: 3, Queued: 1, Capacity: 1e7, Slots: 2} },
		Workers:     func() []Worker { return []Worker{{State: "ready", Setup: 1500 * time.Millisecond}, {State: "gone"}} },
		SetsAside:   true,
		DroppedLogs: func() (uint64, uint64) { return 3, 4096 },
		Memory:      func() memory.Stats { return memory.Stats{Used: 5, Limit: 1 << 30, Evictions: 7, Refusals: 9} },
		GPUs:        func() []GPU { return []GPU{{"0", 1 << 33, 1 << 34, 0.25}, {"GPU-é", 0, 8, 1}, {"part", 7, 0, -1}} },
	})

	requests := counters("pinion_http_requests_total", "Requests answered.", "route", "method", "code")
	took := histogram("pinion_http_request_duration_seconds",
		"Time from a request's arrival to its answer; of a stream, to its beginning.", buckets, "route", "method", "code")
	total := histogram("pinion_prediction_duration_seconds", "Time from a prediction's admission to its end.",
		buckets).WithLabelValues()
	queue := histogram("pinion_queue_seconds", "Time for which a prediction waited because every slot was busy.",
		buckets).WithLabelValues()
	model := histogram("pinion_predict_seconds", "Time that the model took for a prediction.", buckets).WithLabelValues()
	overhead := histogram("pinion_overhead_seconds",
		"Time that the server added to a prediction: neither queue nor files nor model.", buckets).WithLabelValues()
	ended := counters("pinion_predictions_total", "Predictions ended or refused.", "mode", "status", "reason")
	size := histogram("pinion_batch_size", "Predictions in one batch.",
		[]float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}).WithLabelValues()
	wait := histogram("pinion_batch_wait_seconds", "Time for which a batch's oldest prediction was held back for others.",
		buckets).WithLabelValues()
	tokens := prometheus.NewSummary(prometheus.SummaryOpts{Name: "pinion_model_tokens", Help: "Recorded by the model."})
	r.MustRegister(tokens)
	for mode := range modeNames {
		for outcome := range outcomes {
			status, reason := outcomeNames(outcome)
			ended.WithLabelValues(modeNames[mode], status, reason)
		}
	}

	random := rand.New(rand.NewPCG(1, 2))
	// Multiples of 2^-9 s, below 2^12 s: their sums are exact as floats, in any order.
	duration := func() time.Duration { return time.Duration(random.Uint64N(1<<random.Uint64N(22))) * (time.Second >> 9) }
	for range 2000 {
		route := []string{"/predictions", "/predictions/{id}", `/odd"\` + "\n\xff"}[random.IntN(3)]
		method := []string{"GET", "POST"}[random.IntN(2)]
		code, d := 200+random.IntN(3), duration()
		s.Request(route, method, code, d)
		l := []string{strings.ToValidUTF8(route, "\uFFFD"), method, strconv.Itoa(code)}
		requests.WithLabelValues(l...).Inc()
		took.WithLabelValues(l...).Observe(d.Seconds())

		mode, outcome := random.IntN(len(modeNames)), random.IntN(outcomes)
		e := predict.End{
			Mode:  predict.Mode(mode),
			Times: predict.Times{Queue: duration(), Predict: duration() + time.Second, Files: duration()},
		}
		e.Total = e.Queue + e.Predict + e.Files + duration()
		tokenCount := random.IntN(1000)
		e.Metrics = fmt.Appendf(nil, `{"predict_time":7,"tokens":%d}`, tokenCount)
		status, reason := outcomeNames(outcome)
		switch e.Reason = reason; outcome {
		case outcomeSucceeded:
			e.Status = predict.Succeeded
		case outcomeCanceled:
			e.Status = predict.Canceled
		default:
			e.Status = predict.Failed
		}
		s.Ended(e)
		ended.WithLabelValues(modeNames[mode], status, reason).Inc()
		total.Observe(e.Total.Seconds())
		queue.Observe(e.Queue.Seconds())
		model.Observe(e.Predict.Seconds())
		overhead.Observe((e.Total - e.Queue - e.Predict - e.Files).Seconds())
		tokens.Observe(float64(tokenCount))

		n := 1 + random.IntN(2000)
		s.Batch(n, d)
		size.Observe(float64(n))
		wait.Observe(d.Seconds())
	}
	for _, d := range seconds() { // a bound belongs to its own bucket
		s.Batch(1, d)
		wait.Observe(d.Seconds())
		size.Observe(1)
	}

	counters("pinion_log_dropped_records_total",
		"Records of the server's log that were dropped because its reader was too slow.").WithLabelValues().Add(3)
	counters("pinion_log_dropped_bytes_total", "Bytes of those records.").WithLabelValues().Add(4096)
	gauge("pinion_memory_budget_bytes", "Bytes that the server may hold for its clients.").WithLabelValues().Set(1 << 30)
	gauge("pinion_memory_used_bytes", "Bytes of the memory budget in use.").WithLabelValues().Set(5)
	counters("pinion_memory_evictions_total",
		"Ended predictions removed to make room in the memory budget.").WithLabelValues().Add(7)
	counters("pinion_memory_refusals_total",
		"Times that something did not fit into the memory budget.").WithLabelValues().Add(9)
	gauge("pinion_build_info", "Versions; the value is 1.", "version", "python", "cog").WithLabelValues(`v1"\`+"\n",
		"3.12.1", "0.23").Set(1)
	gauge("pinion_predictions_in_flight",
		"Predictions accepted and not ended, including those that wait.").WithLabelValues().Set(3)
	gauge("pinion_queue_length", "Predictions that wait for a slot.").WithLabelValues().Set(1)
	gauge("pinion_queue_capacity", "Predictions that may wait for a slot.").WithLabelValues().Set(1e7)
	gauge("pinion_slots", "Predictions that the present workers can run at once.").WithLabelValues().Set(2)
	gauge("pinion_worker_setup_seconds", "Time that the newest setup took.", "worker").WithLabelValues("0").Set(1.5)
	used := gauge("pinion_gpu_memory_used_bytes", "Memory in use on the GPU, by all processes.", "gpu")
	used.WithLabelValues("0").Set(1 << 33)
	used.WithLabelValues("GPU-é").Set(0)
	used.WithLabelValues("part").Set(7)
	ofGPUs := gauge("pinion_gpu_memory_total_bytes", "Memory of the GPU.", "gpu")
	ofGPUs.WithLabelValues("0").Set(1 << 34)
	ofGPUs.WithLabelValues("GPU-é").Set(8)
	busy := gauge("pinion_gpu_utilization_ratio", "Part of the time in which the GPU was busy, 0 to 1.", "gpu")
	busy.WithLabelValues("0").Set(0.25)
	busy.WithLabelValues("GPU-é").Set(1)
	s.WorkerStarted()
	counters("pinion_worker_starts_total", "Worker processes started.").WithLabelValues().Inc()
	s.WorkerSetAside()
	counters("pinion_workers_suspended_total",
		"Times that a worker was suspended because it answered wrongly.").WithLabelValues().Inc()
	s.WorkerExited(ExitCrash)
	exits := counters("pinion_worker_exits_total", "Worker processes ended, by cause.", "cause")
	for _, cause := range []string{ExitSetup, ExitCrash, ExitLeft} {
		exits.WithLabelValues(cause)
	}
	exits.WithLabelValues(ExitCrash).Inc()
	s.Transfer("upload", "failed", 5)
	files := counters("pinion_file_transfer_bytes_total", "Bytes of files that were downloaded or uploaded.", "direction",
		"outcome")
	for _, l := range [][2]string{
		{"download", "succeeded"},
		{"download", "failed"},
		{"download", "canceled"},
		{"upload", "succeeded"},
		{"upload", "canceled"},
	} {
		files.WithLabelValues(l[0], l[1])
	}
	files.WithLabelValues("upload", "failed").Add(5)

	for format, accept := range accepts {
		_, body := s.Write(accept)
		got, want := blocks(string(body)), blocks(theirs(t, r, format))
		assert.TrueNow(t, len(want) >= 20, "%s: the library has only %d families, want at least 20", format, len(want))
		for name, block := range want {
			assert.True(t, got[name] == block, "%s: the family %s is\n%s\nwant\n%s", format, name, got[name], block)
		}
		if open := strings.HasSuffix(string(body), "\n# EOF\n"); open != (format == "openmetrics") {
			t.Errorf("%s: that it ends in # EOF is %v, want %t", format, open, format == "openmetrics")
		}
	}
}

// TestOracle_GoAndProcessGoByTheirUsualNames: dashboards for Go programs know these.
func TestOracle_GoAndProcessGoByTheirUsualNames(t *testing.T) {
	runtime.GC() // none must run between the two reads
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families := assert.Must(r.Gather())(t)
	usual := map[string]*dto.MetricFamily{}
	for _, f := range families {
		usual[f.GetName()] = f
	}
	count := 0
	for name, f := range parse(t, New(Options{})) {
		if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			continue
		}
		count++
		want := usual[name]
		if want == nil {
			t.Errorf("%s is not a usual name", name)
			continue
		}
		assert.Equal(t, name, f.GetType(), want.GetType())
		near(t, name, f, want)
	}
	assert.True(t, count >= 20, "only %d metrics of Go and the process, want at least 20", count)
}

// near fails if the two values differ by more than timing explains: a wrong unit, or the wrong field.
func near(t *testing.T, name string, got, want *dto.MetricFamily) {
	t.Helper()
	value := func(f *dto.MetricFamily) float64 {
		m := f.GetMetric()[0]
		return m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	g, w := value(got), value(want)
	switch name {
	case "process_start_time_seconds", "process_max_fds", "go_sched_gomaxprocs_threads", "go_info":
		assert.Equal(t, name, g, w)
	case "process_open_fds", "go_threads", "go_goroutines":
		assert.True(t, g >= w-10 && g <= w+10, "%s is %v, and should be about %v, want %v to %v", name, g, w, w-10, w+10)
	case "go_memstats_heap_idle_bytes", "go_memstats_heap_released_bytes", "go_gc_duration_seconds",
		"process_cpu_seconds_total":
	default:
		assert.True(t, g >= w/4 && g <= w*4, "%s is %v, and should be about %v, want %v to %v", name, g, w, w/4, w*4)
	}
}
