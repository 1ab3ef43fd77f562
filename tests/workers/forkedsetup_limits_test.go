package workers

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestForkedSetup_MaxRequests: workers are renewed without another setup.
func TestForkedSetup_MaxRequests(t *testing.T) {
	t.Parallel()
	s := sharedSetup(t, "Runner", "--max-requests", "2")
	for i := range 5 {
		sum(t, s, 0)
		sum(t, s, 0)
		harness.WaitWorkers(t, s, 1, i+1)
	}
	assert.Equal(t, "setups", len(harness.ModelLines(t, s, "set-up.txt")), 1)
	assert.Equal(t, "workers", len(harness.ModelLines(t, s, "forked.txt")), 6)
}

// TestForkedSetup_ModelsMakeRoom: a model that another one's memory ends gives back its preload process too, and is set up again.
func TestForkedSetup_ModelsMakeRoom(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "pinion.yaml", `memory: 10GiB
models:
  a: {path: a, load: on-demand, memory: 6GiB, predictor: "run.py:Runner", preload: setup}
  b: {path: b, load: on-demand, memory: 6GiB, predictor: "run.py:Runner", preload: setup}
`)
	for _, name := range []string{"a", "b"} {
		harness.WriteFile(t, filepath.Join(dir, name, "run.py"), sharedModel)
	}
	s := harness.Start(t, harness.Options{
		Dir: t.TempDir(), Models: []string{"--config", filepath.Join(dir, "pinion.yaml"), "--python", harness.OldestPython(t).Path},
	})
	for i := range 3 {
		for _, name := range []string{"a", "b"} {
			harness.EqualJSON(t, name, harness.PredictBy(s, name, harness.Input{}).Output, "10.0")
			setUp := strings.Fields(harness.ReadFile(t, filepath.Join(dir, name, "set-up.txt")))
			assert.Equal(t, "setups of "+name, len(setUp), i+1)
			for _, ended := range setUp[:i] {
				assert.Eventually(t, "the process of an earlier setup has ended", func() bool {
					_, err := os.Stat("/proc/" + ended)
					return os.IsNotExist(err)
				})
			}
		}
	}
}

// TestForkedSetup_ThousandForks leaves neither memory nor descriptors behind, in the preload process and in the server.
func TestForkedSetup_ThousandForks(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	s := sharedSetup(t, "Runner")
	preload := preloadProcess(t, s).PID
	type held struct{ preloadFDs, serverFDs, preloadKiB int }
	look := func() held {
		return held{harness.Descriptors(t, preload), harness.Descriptors(t, s.PID), harness.Resident(t, preload) >> 10}
	}
	var early held
	for i := range 1000 {
		sum(t, s, 0)
		harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
		harness.WaitWorkers(t, s, 1, i+1)
		if i == 100 {
			early = look()
		}
	}
	late := look()
	assert.Equal(t, "forks", preloadProcess(t, s).Forked, 1001)
	assert.Equal(t, "descriptors of the preload process", late.preloadFDs, early.preloadFDs)
	assert.True(t, late.serverFDs <= early.serverFDs+2 && late.preloadKiB <= early.preloadKiB+1024,
		"after 1 000 forks %+v, after 100 %+v, want no more", late, early)
}

// TestForkedSetup_Torch: a state dict and a warm-up in setup are not refused. Workers share the weights, compute on their own threads,
// and draw their own numbers.
func TestForkedSetup_Torch(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	o := debianTorch(t, "Runner")
	harness.WriteFile(t, filepath.Join(o.Dir, "run.py"), `import torch
from typing import Any
from cog import BaseRunner


class Runner(BaseRunner):
    def setup(self) -> None:
        torch.manual_seed(1)
        self.network = torch.nn.Sequential(torch.nn.Linear(2048, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 2048)).eval()
        self.network.load_state_dict({name: torch.full_like(t, 0.5) for name, t in self.network.state_dict().items()})
        with torch.inference_mode():
            self.want = self.network(torch.ones(64, 2048))  # a warm-up

    def run(self) -> Any:
        with torch.inference_mode():
            same = bool(torch.allclose(self.network(torch.ones(64, 2048)), self.want))
        return [same, torch.get_num_threads(), torch.rand(1).item()]
`)
	o.Args, o.Env = []string{"--predict-timeout", "1m"}, append(o.Env, "OMP_NUM_THREADS=3")
	s := forkedSetup(t, o)
	drawn := map[any]bool{}
	for i := range 3 {
		var got []any
		s.Succeed(harness.Input{}).Decode(t, &got)
		assert.True(t, got[0] == true && got[1] == 3.0, "got %v, want the answer of the setup, on 3 threads", got)
		drawn[got[2]] = true
		harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
		harness.WaitWorkers(t, s, 1, i+1)
	}
	assert.Equal(t, "different numbers", len(drawn), 3)
	wantForkedSetup(t, s, "torch", "")
}
