package workers

import (
	"fmt"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const settings = `import contextvars
import decimal
import importlib
import locale
import warnings

from cog import BaseRunner

variable = contextvars.ContextVar("variable")


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


np, sklearn, faiss, jax, cv2, torch = map(optional, ("numpy", "sklearn", "faiss", "jax", "cv2", "torch"))
new_numpy = np and int(np.__version__.split(".")[0]) >= 2


def seen() -> dict[str, bool]:
    got = {
        "contextvars": variable.get("lost") == "set",
        "decimal": decimal.getcontext().prec == 7,
        "locale": locale.setlocale(locale.LC_NUMERIC) == "C.UTF-8",
        "warnings": warnings.filters[0][0] == "error",
    }
    if new_numpy:
        got["numpy.seterr"] = np.geterr()["divide"] == "raise"
        got["numpy.set_printoptions"] = np.get_printoptions()["precision"] == 3
    if sklearn:
        got["sklearn.set_config"] = sklearn.get_config()["enable_metadata_routing"]
        with sklearn.config_context(enable_metadata_routing=True):
            got["sklearn.config_context in run"] = sklearn.get_config()["enable_metadata_routing"]
    if faiss:
        got["faiss.omp_set_num_threads"] = faiss.omp_get_max_threads() == 1
    if jax:
        got["jax.config.update"] = jax.config.jax_enable_x64
        got["with jax"] = jax.config.jax_default_matmul_precision == "highest"
    if cv2:
        got["cv2.setNumThreads"] = cv2.getNumThreads() == 1
    if torch:
        got["torch.set_grad_enabled"] = not torch.is_grad_enabled()
        got["torch.set_default_dtype"] = torch.get_default_dtype() is torch.float64
    return got


class Runner(BaseRunner):
    def setup(self) -> None:
        variable.set("set")
        decimal.getcontext().prec = 7
        locale.setlocale(locale.LC_NUMERIC, "C.UTF-8")
        warnings.simplefilter("error")
        if new_numpy:
            np.seterr(divide="raise")
            np.set_printoptions(precision=3)
        if sklearn:
            sklearn.set_config(enable_metadata_routing=True)
        if faiss:
            faiss.omp_set_num_threads(1)
        if jax:
            jax.config.update("jax_enable_x64", True)
            self.mode = jax.default_matmul_precision("highest")
            self.mode.__enter__()
        if cv2:
            cv2.setNumThreads(1)
        if torch:
            torch.set_grad_enabled(False)
            torch.set_default_dtype(torch.float64)
        assert all(seen().values()), seen()

    def run(self) -> str:
        return " ".join(name for name, kept in seen().items() if not kept) or "all kept"

`

// TestThreads_Settings: which settings of setup predictions on threads see, as docs/how-to/threads.md says. A prediction
// on the main thread sees all.
func TestThreads_Settings(t *testing.T) {
	t.Parallel()
	pythons := map[string]string{harness.NewestPython(t).Path: "all kept"}
	if harness.IsFull() {
		pythons[harness.Tool(t, "venvs/libraries-full/bin/python")] = "sklearn.set_config faiss.omp_set_num_threads with jax"
	}
	for python, lost := range pythons {
		for slots, want := range map[string]string{"1": "all kept", "2": lost} {
			s := harness.Ready(t, harness.Options{
				Dir: harness.NewFolder(t, "run.py", settings), Model: "run.py:Runner", Python: python, Args: []string{"--concurrency", slots},
			})
			harness.WantOutput(t, fmt.Sprintf("%s, %s slots: what is lost", python, slots), s.Succeed(harness.Input{}), want)
		}
	}
}

// TestThreads_SettingsOfTorch is the same with Debian's.
func TestThreads_SettingsOfTorch(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	o := debianTorch(t, "Runner")
	o.Dir, o.Args = harness.NewFolder(t, "run.py", settings), []string{"--concurrency", "2"}
	s := harness.Ready(t, o)
	assert.Contains(t, "what is lost", s.Succeed(harness.Input{}).Text(t), "torch.set_grad_enabled")
}

const redirects = `import contextlib
import io
import threading

from cog import BaseRunner

first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()


class Runner(BaseRunner):
    def run(self, turn: str) -> None:
        if turn == "first":
            with contextlib.redirect_stdout(io.StringIO()):
                first_in.set()
                second_in.wait()
            first_out.set()
        if turn == "second":
            first_in.wait()
            with contextlib.redirect_stdout(io.StringIO()):
                second_in.set()
                first_out.wait()
        print("printed")
`

// TestThreads_RedirectedStdout: as Python's documents say of redirect_stdout, it is not for threads. The second puts the
// first one's buffer back.
func TestThreads_RedirectedStdout(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", redirects), Model: "run.py:Runner", Python: harness.AnyPython(t).Path,
		Args: []string{"--concurrency", "2"},
	})
	assert.Equal(t, "the logs before", s.Succeed(harness.Input{"turn": "none"}).Logs, "printed\n")
	first, second := s.Begin("first", harness.Input{"turn": "first"}), s.Begin("second", harness.Input{"turn": "second"})
	harness.WantStatus(t, "the first", harness.Receive(t, first), "succeeded")
	harness.WantStatus(t, "the second", harness.Receive(t, second), "succeeded")
	assert.Equal(t, "the logs after", s.Succeed(harness.Input{"turn": "none"}).Logs, "")
}
