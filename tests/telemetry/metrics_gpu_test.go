package telemetry

import (
	"net/http"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestMetricsGpu_MetricsOfGPUs where the driver's library is, and none where it is not.
func TestMetricsGpu_MetricsOfGPUs(t *testing.T) {
	t.Parallel()
	folder := fakeNVML(t)
	s := harness.Ready(t, harness.Options{Model: "echo.py:text", Env: []string{"LD_LIBRARY_PATH=" + folder}})
	var f harness.MetricFamilies
	assert.Eventually(t, "the GPUs are there", func() bool {
		f = harness.Scrape(t, s)
		return f["pinion_gpu_memory_used_bytes"] != nil
	})
	got := f.Value("pinion_gpu_memory_used_bytes", "gpu", "0")
	assert.True(t, got == 5<<30 && len(f["pinion_gpu_memory_used_bytes"].GetMetric()) == 2,
		"the memory is %v: got %v, want %v and len(GetMetric) 2", f["pinion_gpu_memory_used_bytes"], got, 5<<30)
	got = f.Value("pinion_gpu_utilization_ratio", "gpu", "0")
	assert.True(t, got == 0.75 && len(f["pinion_gpu_utilization_ratio"].GetMetric()) == 1,
		"the utilization is %v: got %v, want 0.75 and len(GetMetric) 1", f["pinion_gpu_utilization_ratio"], got)
	assert.Equal(t, "bytes of all memory", f.Value("pinion_gpu_memory_total_bytes", "gpu", "0"), 80<<30)
	s.Succeed(harness.Input{"text": "served all the same"})

	without := harness.Ready(t, harness.Options{
		Model: "echo.py:text", Env: []string{"LD_LIBRARY_PATH=" + folder, "FAKE_NVML_BROKEN=1"},
	})
	for range 3 {
		f := harness.Scrape(t, without)
		assert.True(t, f["pinion_gpu_memory_used_bytes"] == nil && f["pinion_gpu_utilization_ratio"] == nil,
			"got metrics of GPUs, want none: the driver is not loaded")
	}
}

// TestMetricsGpu_MetricsOfWorkersThatLeave: each exit is counted once, by its cause, also of workers that health does
// not show.
func TestMetricsGpu_MetricsOfWorkersThatLeave(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Model: "echo.py:text", Args: []string{"--reload", "--queue", "4", "--workers", "2"},
	})
	harness.SendSignal(t, s.Worker(), syscall.SIGSEGV)
	exits := func(cause string) float64 {
		return harness.Scrape(t, s).Value("pinion_worker_exits_total", "cause", cause)
	}
	assert.Eventually(t, "two are ready again", func() bool {
		return exits("signal") == 1 && harness.Scrape(t, s).Value("pinion_workers", "state", "ready") == 2
	})
	harness.WantCode(t, "reload", s.Do(http.MethodPost, "/reload", nil), http.StatusAccepted)
	assert.Eventually(t, "two have left", func() bool { return exits("left") == 2 })
	f := harness.Scrape(t, s)
	assert.True(t, f.Value("pinion_worker_starts_total") == 5 && exits("signal") == 1,
		"%v starts and exits %v, want 5 and one by a signal", f["pinion_worker_starts_total"], f["pinion_worker_exits_total"])
}
