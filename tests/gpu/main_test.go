package gpu

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, "..")) }

const mebibyte = 1 << 20

// need skips a test where there is no GPU.
func need(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/dev/nvidia0"); err != nil {
		t.Skip("no GPU here")
	}
}

// start starts a server of tests/models/gpu.py, or of the folder in the options, with a Python whose torch sees the
// GPU.
func start(t *testing.T, model string, o harness.Options) *harness.Server {
	t.Helper()
	need(t)
	python := harness.AnyPython(t)
	seen, err := exec.Command(python.Path, "-c", "import torch; assert torch.cuda.is_available()").CombinedOutput()
	if err != nil {
		t.Skipf("torch of %s sees no GPU: %s", python.Path, seen)
	}
	o.Python = python.Path
	if o.Dir == "" {
		o.Model = "gpu.py:" + model
	}
	o.Env = append(o.Env, "HOME="+t.TempDir(), "PATH="+os.Getenv("PATH"), "LD_LIBRARY_PATH="+os.Getenv("LD_LIBRARY_PATH"))
	return harness.Ready(t, o)
}

// usedMemory asks the driver how much memory of the first GPU is used.
func usedMemory(t *testing.T) int {
	t.Helper()
	need(t)
	out, err := exec.Command("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", "0").Output()
	assert.NoError(t, err, "ask nvidia-smi")
	mib, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatalf("read nvidia-smi's answer %q: got %v, want no error", out, err)
	}
	return mib * mebibyte
}

// do is the input of one step of the model.
func do(what string, size int, factor float64) harness.Input {
	return harness.Input{"do": what, "size": size, "factor": factor}
}

func wantProduct(t *testing.T, s *harness.Server, size int, factor float64) {
	t.Helper()
	got := s.Succeed(do("multiply", size, factor)).Text(t)
	want := strconv.FormatFloat(float64(size)*factor/2, 'f', 1, 64)
	assert.Equal(t, "the product", got, want)
}
