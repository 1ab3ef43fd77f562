package workers

import (
	"path/filepath"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const numba = `import numba
from cog import BaseRunner


@numba.njit(parallel=True)
def total(n):
    total = 0
    for i in numba.prange(n):
        total += i
    return total


total(1000)


class Runner(BaseRunner):
    def run(self) -> int:
        return total(1000)
`

// TestPreload_PoolsOfNumba: its own threads start again in a fork, and TBB ends its threads before. Those of GNU's
// OpenMP do neither.
func TestPreload_PoolsOfNumba(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	python := harness.Tool(t, "venvs/libraries-full/bin/python")
	dir := harness.NewFolder(t, "run.py", numba)
	for layer, reason := range map[string]string{
		"workqueue": "", "tbb": "", "omp": "leaves 2 threads running (2 of libgomp.so",
	} {
		s := harness.Ready(t, harness.Options{
			Dir: dir, Model: "run.py:Runner", Python: python, Args: []string{"--preload", "--predict-timeout", "1m"},
			Env: []string{
				"NUMBA_THREADING_LAYER=" + layer, "NUMBA_NUM_THREADS=3",
				"LD_LIBRARY_PATH=" + filepath.Join(filepath.Dir(filepath.Dir(python)), "lib"), // of libtbb
			},
		})
		wantPreload(t, s, layer, reason)
		harness.EqualJSON(t, layer+": the sum", s.Succeed(harness.Input{}).Output, "499500")
	}
}

// wantPreload fails unless the preload process forks workers, or is refused for a reason.
func wantPreload(t *testing.T, s *harness.Server, what, reason string) {
	t.Helper()
	got := preloadProcess(t, s)
	if reason == "" {
		assert.Equal(t, what+": the preload process", got.State, "ready")
		return
	}
	assert.Equal(t, what+": the preload process", got.State, "refused")
	assert.Contains(t, what+": the reason", got.Reason, reason)
}

// TestPreload_Torch forks after its import, and is refused where the import has computed on several threads.
func TestPreload_Torch(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	for what, reason := range map[string]string{"": "", "total()\n": "2 of libgomp.so.1"} {
		o := debianTorch(t, "Runner")
		harness.WriteFile(t, filepath.Join(o.Dir, "run.py"), `import torch
from cog import BaseRunner


def total() -> float:
    torch.set_num_threads(3)
    return float((torch.ones(4000000) * 2).sum())


`+what+`
class Runner(BaseRunner):
    def run(self) -> float:
        return total()
`)
		o.Args = []string{"--preload", "--predict-timeout", "1m"}
		s := harness.Ready(t, o)
		wantPreload(t, s, "torch", reason)
		harness.EqualJSON(t, "the sum", s.Succeed(harness.Input{}).Output, "8000000.0")
	}
}
