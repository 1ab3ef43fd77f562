package workers

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pinion/tests/assert"
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
	dir := harness.NewFolder(t, "run.py", realModels)
	for _, class := range []string{"Onnx", "Numpy"} {
		wantAnswersOfOne(t, harness.Options{Python: python, Dir: dir, Model: "run.py:" + class})
	}
}

// wantAnswersOfOne fails unless four threads give the answers of a worker without threads. The model's input is a seed.
func wantAnswersOfOne(t *testing.T, o harness.Options) {
	t.Helper()
	const inputs = 8
	alone := harness.Ready(t, o)
	var want [inputs]string
	for i := range want {
		want[i] = alone.Succeed(harness.Input{"seed": i}).Text(t)
	}
	o.Args = []string{"--concurrency", fmt.Sprint(meet), "--queue", "64"}
	s := harness.Ready(t, o)
	var clients sync.WaitGroup
	for client := range meet {
		clients.Go(func() {
			for i := range inputs {
				seed := (i + 3*client) % inputs
				got := s.Input(harness.Input{"seed": seed})
				harness.WantOutput(t, fmt.Sprint(o.Model, " of ", seed), got, want[seed])
			}
		})
	}
	clients.Wait()
}

const pillow = `import io
import threading

from cog import BaseRunner, Path
from PIL import Image, ImageFilter


class Runner(BaseRunner):
    def setup(self) -> None:
        self.barrier = threading.Barrier(4)

    def run(self, picture: Path, meet: bool = False) -> str:
        if meet:
            self.barrier.wait()
        image = Image.open(picture).convert("RGB")
        small = image.resize((97, 61), Image.LANCZOS).filter(ImageFilter.GaussianBlur(2)).rotate(30)
        encoded = io.BytesIO()
        for kind in ("PNG", "JPEG", "WEBP"):
            small.save(encoded, kind)
        return encoded.getvalue().hex()
`

// TestThreads_PicturesOfPillowAreThoseOfOne: four threads read, resize and encode a picture each, at once.
func TestThreads_PicturesOfPillowAreThoseOfOne(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		harness.NeedModule(t, python, "PIL")
		s := threaded(t, harness.Options{
			Python: python.Path, Dir: harness.NewFolder(t, "run.py", pillow), Model: "run.py:Runner",
		})
		var pictures, want [meet]string
		for i := range pictures {
			pictures[i] = picture(t, i)
			want[i] = s.Succeed(harness.Input{"picture": pictures[i]}).Text(t)
			if i > 0 && want[i] == want[i-1] {
				t.Fatalf("pictures %d and %d give the same answer, want anything but %q", i-1, i, want[i-1])
			}
		}
		for round := range 5 {
			var answers [meet]<-chan harness.Answer
			for i, picture := range pictures {
				answers[i] = s.Begin(fmt.Sprintf("picture%d-%d", round, i), harness.Input{"picture": picture, "meet": true})
			}
			for i, answer := range answers {
				harness.WantOutput(t, fmt.Sprint("picture ", i), harness.Receive(t, answer), want[i])
			}
		}
	})
}

// picture returns one of several pictures of some hundred pixels a side, as a data URL.
func picture(t *testing.T, n int) string {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 300+50*n, 400-30*n))
	for i := range img.Pix {
		img.Pix[i] = byte(i*(2*n+3)>>4) | 1
	}
	var encoded bytes.Buffer
	assert.NoError(t, png.Encode(&encoded, img))
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(encoded.Bytes())
}

const torch = `import threading

import torch
from cog import BaseRunner


class Network(BaseRunner):
    def setup(self) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(1)
        self.network = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(8),
            torch.nn.Flatten(), torch.nn.Linear(1024, 64), torch.nn.Softmax(1),
        ).eval()

    def run(self, seed: int) -> str:
        x = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(seed))
        with torch.inference_mode():
            return self.network(x).numpy().tobytes().hex()


class Modes(BaseRunner):
    """Says which modes a thread sees while another one has changed its own."""

    def setup(self) -> None:
        self.barrier = threading.Barrier(4)
        self.layer = torch.nn.Linear(4, 4)

    def run(self, how: str = "") -> str:
        self.barrier.wait()
        if how == "inference":
            with torch.inference_mode():
                return self.seen()
        if how == "off":
            torch.set_grad_enabled(False)
        return self.seen()

    def seen(self) -> str:
        self.barrier.wait()
        modes = [torch.is_grad_enabled(), torch.is_inference_mode_enabled(), self.layer(torch.ones(1, 4)).requires_grad]
        self.barrier.wait()
        return " ".join(map(str, modes))
`

// debianTorch are options that serve a model with the PyTorch that make_torch of suites.sh unpacks.
func debianTorch(t *testing.T, model string) harness.Options {
	t.Helper()
	packages := filepath.Dir(filepath.Dir(harness.Tool(t, "torch/usr/lib/python3/dist-packages/torch/__init__.py")))
	root := filepath.Join(packages, "../../../..")
	libraries, err := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu"))
	assert.TrueNow(t, err == nil && len(libraries) == 1,
		"libraries of %s: got %q (%v), want one folder", root, libraries, err)
	multiarch := filepath.Base(libraries[0])
	path := []string{
		libraries[0], filepath.Join(libraries[0], "blas"), filepath.Join(libraries[0], "lapack"),
		filepath.Join(root, "usr/lib"), filepath.Join(root, "lib", multiarch),
	}
	return harness.Options{
		Python: "/usr/bin/python3", Dir: harness.NewFolder(t, "run.py", torch), Model: "run.py:" + model,
		Env: []string{"PYTHONPATH=" + packages, "LD_LIBRARY_PATH=" + strings.Join(path, ":")},
	}
}

func TestThreads_TorchGivesTheAnswersOfOne(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	wantAnswersOfOne(t, debianTorch(t, "Network"))
}

// TestThreads_ModesOfTorchAreOfTheirThread: what one sets, the others do not see. A slot keeps what its thread has set.
func TestThreads_ModesOfTorchAreOfTheirThread(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	s := threaded(t, debianTorch(t, "Modes"))
	ask := func(round string, hows ...string) (seen [meet]string) {
		hows = append(hows, make([]string, meet-len(hows))...)
		var answers [meet]<-chan harness.Answer
		for i, how := range hows {
			answers[i] = s.Begin(fmt.Sprint(round, i), harness.Input{"how": how})
		}
		for i, answer := range answers {
			seen[i] = harness.Receive(t, answer).Text(t)
		}
		return seen
	}
	const usual, inference, off = "True False True", "False True False", "False False False"
	assert.Equal(t, "beside inference_mode()", ask("inference", "inference"), [meet]string{inference, usual, usual, usual})
	assert.Equal(t, "after it", ask("after"), [meet]string{usual, usual, usual, usual})
	assert.Equal(t, "beside set_grad_enabled(False)", ask("off", "off"), [meet]string{off, usual, usual, usual})
	kept := ask("kept")
	slices.Sort(kept[:])
	assert.Equal(t, "after it, on the same threads", kept, [meet]string{off, usual, usual, usual})
}
