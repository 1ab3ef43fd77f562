package workers

import (
	"fmt"
	"sync"
	"testing"

	"pinion/tests/harness"
)

// realModels compute with onnxruntime and numpy. Threads must give the answers of one.
const realModels = `import importlib.util
from pathlib import Path

import numpy as np
import onnxruntime
from cog import BaseRunner


class Onnx(BaseRunner):
    def setup(self) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        folder = Path(importlib.util.find_spec("magika").origin).parent / "models"
        self.session = onnxruntime.InferenceSession(str(next(folder.glob("standard*/model.onnx"))), options)
        self.input = self.session.get_inputs()[0]

    def run(self, seed: int) -> str:
        shape = [n if isinstance(n, int) else 1 for n in self.input.shape]
        x = np.random.default_rng(seed).integers(0, 255, shape).astype(np.int32)
        scores = self.session.run(None, {self.input.name: x})[0]
        return scores.tobytes().hex()


class Numpy(BaseRunner):
    def setup(self) -> None:
        self.weights = np.random.default_rng(1).standard_normal((256, 256))

    def run(self, seed: int) -> str:
        x = np.random.default_rng(seed).standard_normal((64, 256))
        for _ in range(20):
            x = np.tanh(x @ self.weights / 16)
        return np.sort(x, axis=None)[:16].tobytes().hex()
`

func TestThreads_RealModelsGiveTheAnswersOfOne(t *testing.T) {
	t.Parallel()
	python := harness.Tool(t, "venvs/models/bin/python")
	const inputs = 8
	for _, class := range []string{"Onnx", "Numpy"} {
		dir := harness.NewFolder(t, "run.py", realModels)
		alone := harness.Ready(t, harness.Options{Python: python, Dir: dir, Model: "run.py:" + class})
		var want [inputs]string
		for i := range want {
			want[i] = alone.Succeed(harness.Input{"seed": i}).Text(t)
		}
		s := harness.Ready(t, harness.Options{
			Python: python, Dir: dir, Model: "run.py:" + class, Args: []string{"--concurrency", "4", "--queue", "64"},
		})
		var clients sync.WaitGroup
		for client := range 4 {
			clients.Go(func() {
				for i := range inputs {
					seed := (i + 3*client) % inputs
					got := s.Input(harness.Input{"seed": seed})
					harness.WantOutput(t, fmt.Sprint(class, " of ", seed), got, want[seed])
				}
			})
		}
		clients.Wait()
	}
}
