package gpu

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestHealth_ReportsTheDriver: the worker started the driver, and says what it found.
func TestHealth_ReportsTheDriver(t *testing.T) {
	t.Parallel()
	s := start(t, "Model", harness.Options{})
	type report struct {
		State, Driver, Library string
		Devices                []struct {
			Name, UUID string
			Total      int64 `json:"memory_total_bytes"`
			Free       int64 `json:"memory_free_bytes"`
		}
	}
	var got report
	var text string
	assert.Eventually(t, "the driver is ready", func() bool {
		var health struct {
			Workers []struct{ CUDA json.RawMessage }
		}
		harness.FromJSON(t, s.Do(http.MethodGet, "/health-check", nil).Body, &health)
		text = string(health.Workers[0].CUDA)
		harness.FromJSON(t, text, &got)
		return got.State == "ready"
	})
	t.Log(text)
	if len(got.Devices) == 0 || got.Driver == "" || got.Library == "" || !strings.HasPrefix(got.Devices[0].UUID, "GPU-") ||
		got.Devices[0].Free <= 0 || got.Devices[0].Free >= got.Devices[0].Total {
		t.Errorf("got the report %s, want a driver, a library and a device with its memory", text)
	}
	wantProduct(t, s, 512, 3)
}

// TestHealth_HiddenGPU: the variable that hides the device is named.
func TestHealth_HiddenGPU(t *testing.T) {
	t.Parallel()
	s := start(t, "Model", harness.Options{Env: []string{"CUDA_VISIBLE_DEVICES=", "GPU_TEST_DEVICE=cpu"}})
	assert.Eventually(t, "the report names the variable", func() bool {
		text := string(s.Do(http.MethodGet, "/health-check", nil).Body)
		return strings.Contains(text, "no_device") && strings.Contains(text, "CUDA_VISIBLE_DEVICES")
	})
	wantProduct(t, s, 64, 2)
}

// TestMetrics_OfTheGPU: NVML's figures are served.
func TestMetrics_OfTheGPU(t *testing.T) {
	s := start(t, "Model", harness.Options{Env: []string{"GPU_TEST_HOLD=3221225472"}})
	assert.Eventually(t, "the memory that the model holds is counted", func() bool {
		f := harness.Scrape(t, s)
		return f["pinion_gpu_memory_used_bytes"] != nil && f.Value("pinion_gpu_memory_used_bytes", "gpu", "0") > 3<<30
	})
	f := harness.Scrape(t, s)
	if f["pinion_gpu_utilization_ratio"] == nil || f.Value("pinion_gpu_memory_total_bytes", "gpu", "0") < 4<<30 {
		t.Errorf("got utilization %v and total memory %v, want both",
			f["pinion_gpu_utilization_ratio"], f["pinion_gpu_memory_total_bytes"])
	}
}

// TestCancel_StopsKernels: the loop ends, its process stays, and the next answer is right.
func TestCancel_StopsKernels(t *testing.T) {
	s := start(t, "Model", harness.Options{})
	worker := s.Worker()
	for i, size := range []int{1024, 8192} {
		answer := s.Begin("loop", do("loop", size, 1))
		assert.Eventually(t, "it computes", func() bool { return s.Log.Count("computing") > i })
		s.Cancel("loop")
		harness.WantStatus(t, "the canceled loop", harness.Receive(t, answer), "canceled")
		wantProduct(t, s, 512, 3)
	}
	assert.Equal(t, "the worker", s.Worker(), worker)
}

// TestCancel_WaitsForTheDriver: a wait inside the driver cannot be interrupted; the worker is kept if it ends in time.
func TestCancel_WaitsForTheDriver(t *testing.T) {
	s := start(t, "Model", harness.Options{})
	answer := s.Begin("queued", do("queued", 8192, 150))
	s.WaitLog("launched")
	s.Cancel("queued")
	harness.WantStatus(t, "the canceled wait", harness.Receive(t, answer), "canceled")
	s.WaitHealth("READY")
	wantProduct(t, s, 512, 3)
}

// TestOutOfMemory_IsTheModelsError: the process stays, for its context is good.
func TestOutOfMemory_IsTheModelsError(t *testing.T) {
	t.Parallel()
	s := start(t, "Model", harness.Options{})
	worker := s.Worker()
	harness.WantFailed(t, "all memory and more", s.Fail(do("too_much", 1000, 1)), "out of memory")
	wantProduct(t, s, 512, 3)
	assert.Equal(t, "the worker", s.Worker(), worker)
}

// TestLostContext_ReplacesTheWorker: after such an error every prediction of the process would fail.
func TestLostContext_ReplacesTheWorker(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{"asserts": "device-side assert", "illegal": "illegal memory access"} {
		t.Run(what, func(t *testing.T) {
			s := start(t, "Model", harness.Options{})
			worker := s.Worker()
			harness.WantFailed(t, what, s.Fail(do(what, 256, 1)), text)
			assert.Eventually(t, "another worker is ready", func() bool {
				h := s.Health()
				return h.Status == "READY" && h.Workers[0].PID != worker && h.Workers[0].State == "ready"
			})
			assert.Contains(t, "the log", s.Log.String(), "its GPU context is lost")
			wantProduct(t, s, 512, 3)
		})
	}
}

// TestKill_GivesMemoryBack: of a worker that is killed while it computes, and of a server that stops.
func TestKill_GivesMemoryBack(t *testing.T) {
	before := usedMemory(t)
	s := start(t, "Model", harness.Options{Env: []string{"GPU_TEST_HOLD=8589934592"}})
	held := usedMemory(t)
	if held-before < 8<<30 {
		t.Fatalf("got %d MiB held, want more than 8 GiB", (held-before)/mebibyte)
	}
	answer := s.Begin("loop", do("loop", 2048, 1))
	s.WaitLog("computing")
	worker := s.Worker()
	harness.SendSignal(t, worker, syscall.SIGKILL)
	harness.WantStatus(t, "the loop of the killed worker", harness.Receive(t, answer), "failed")
	assert.Eventually(t, "another worker is ready", func() bool {
		return s.Health().Status == "READY" && s.Worker() != worker
	})
	wantProduct(t, s, 512, 3)
	if now := usedMemory(t); now > held+1<<30 {
		t.Errorf("got %d MiB used after the kill, want the %d of before", now/mebibyte, held/mebibyte)
	}
	s.Stop()
	assert.Eventually(t, "the memory is free", func() bool { return usedMemory(t) < before+1<<30 })
}

// TestStop_EndsALoop: a stop with a short grace does not wait for the GPU.
func TestStop_EndsALoop(t *testing.T) {
	t.Parallel()
	s := start(t, "Model", harness.Options{Args: []string{"--grace", "1s"}})
	answer := s.Begin("loop", do("loop", 8192, 1))
	s.WaitLog("computing")
	s.Signal(syscall.SIGTERM)
	harness.WantStatus(t, "the loop", harness.Receive(t, answer), "canceled")
	s.Ended(0)
}

// TestForks_SaySo: a fork of a worker cannot use the GPU, a process of its own can.
func TestForks_SaySo(t *testing.T) {
	t.Parallel()
	s := start(t, "Model", harness.Options{})
	assert.Contains(t, "the fork", s.Succeed(do("forks", 1, 1)).Text(t), "forked", "a fresh process ends with 0")
	wantProduct(t, s, 512, 3)
}
