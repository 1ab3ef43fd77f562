package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// everyPlaceModel would make a file at every place where Python runs code of a model's file; calm keeps what the place
// needs.
const everyPlaceModel = `import contextlib, dataclasses, inspect, os, pathlib, subprocess, typing
import beside
from inner import deep
from cog import BaseModel, BasePredictor, Input

def calm(name, value=int):
    with contextlib.suppress(BaseException):
        (pathlib.Path(os.path.dirname(__file__)) / ("made-" + name)).write_text("x")
    return value

os.system("touch made-system")
subprocess.run(["touch", "made-run"])
inspect.os.system("touch made-os")
calm("statement")
KEPT = [calm("comprehension") for _ in range(1)]
TEXT = f"{calm('f-string')}"
LAMBDA = (lambda: calm("lambda"))()

def decorated(f):
    return calm("decorator", f)

class Meta(type):
    def __prepare__(*args, **kwargs): return calm("prepare", {})
    def __new__(cls, *args, **kwargs): return calm("meta", super().__new__(cls, *args, **kwargs))
    def __call__(cls, *args, **kwargs): return calm("call", super().__call__(*args, **kwargs))

class Thing(metaclass=Meta):
    def __init_subclass__(cls): calm("subclass")
    def __set_name__(self, owner, name): calm("set-name")
    def __init__(self): calm("thing")
    def __del__(self): calm("del")

class Below(Thing):
    thing = Thing()

Thing()
THING = Thing()

class Text(str):
    def __str__(self): return calm("str", "x")
    def __len__(self): return calm("len", 1)
    def __hash__(self): return calm("hash", 1)
    __eq__ = lambda self, other: calm("eq", True)
    __class__ = property(lambda self: calm("class", str))

@dataclasses.dataclass
class Data:
    made: int = dataclasses.field(default_factory=lambda: calm("factory", 1))
    def __post_init__(self): calm("post-init")

Data()

def generates():
    try:
        yield calm("generator")
    finally:
        calm("finally")

GENERATOR = generates()
next(GENERATOR)
inspect.importlib.import_module("atexit").register(calm, "atexit")
inspect.importlib.import_module("threading").Timer(0, calm, ["thread"]).start()

with contextlib.ExitStack() as stack:
    stack.callback(calm, "exit-stack")

class Out(BaseModel):
    field: calm("field")
    quoted: "calm('quoted-field')"

class Predictor(BasePredictor):
    calm("body")
    thing: calm("class-annotation") = Thing()

    def __new__(cls): return calm("new", super().__new__(cls))
    def __init__(self): calm("init")
    def __getattribute__(self, name): return calm("getattribute", super().__getattribute__(name))
    def __del__(self): calm("predictor-del")
    def setup(self): calm("setup")
    def healthcheck(self): return calm("health", True)

    @decorated
    def helper(self, n: calm("annotation", int) = calm("default", 3), quoted: "calm('quoted')" = 4,
               s: str = Input(default=Text("x"), description=Text("said"), choices=["x"])) -> Out: ...
    def predict(self, n: int = 3, quoted: "int" = 4, s: str = Input(default="x")) -> "int":
        print("LEAK")

print("LEAK")
os.write(2, b"LEAK")
1 is 1
`

// The document is that of an import, and the folder is as it was: also after what the model leaves behind when the
// process ends.
func TestStatic_CLIStaticReadingLeavesNoTrace(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		dir := harness.NewFolder(t, "cog.yaml", "predict: predict.py:Predictor\n", "predict.py", everyPlaceModel,
			"beside.py", "import inspect, pathlib\npathlib.Path(__file__ + '-made').touch()\ninspect.os.system('touch made-beside')\n",
			"inner/__init__.py", "open(__file__ + '-made', 'w')\n", "inner/deep.py",
			"import pathlib\npathlib.Path(__file__ + '-made').mkdir()\n")
		c := harness.CLI{Python: python.Path, Dir: dir}
		before := filesBelow(t, dir)
		got := c.Run(t, "schema", "--static", "--input")
		assert.Contains(t, "the input", got.Stdout, `"default": 3`, `"default": 4`, `"default": "x"`)
		assert.True(t, got.Code == 0 && got.Stderr == "" && !strings.Contains(got.Stdout, "LEAK"),
			"it ended with %d, and said, want Code 0, Stderr empty and Stdout without \"LEAK\"\n%s%s", got.Code, got.Stdout,
			got.Stderr)
		assert.EqualSlices(t, "there", before, filesBelow(t, dir))
		c.Good(t, "check", "--execute")
		if after := filesBelow(t, dir); len(after) < len(before)+30 {
			t.Errorf("an import makes too little for this test to say much: %q, want at least %d", after, len(before)+30)
		}
	})
}

// filesBelow are the paths of all files and folders below one.
func filesBelow(t testing.TB, dir string) (found []string) {
	t.Helper()
	assert.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		found = append(found, path)
		return err
	}))
	return found
}

// The model computes for years in one call, so that only a kill ends the process that reads it.
func TestStatic_CLIStaticReadingEndsWithItsProcesses(t *testing.T) {
	t.Parallel()
	for _, sig := range endingSignals {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			c := harness.CLI{Dir: harness.NewFolder(t, "run.py", undecidedModel("YEARS = sum(range(10**15))"))}
			cmd, _, stderr := c.Start(t, "schema", "--static")
			harness.StartCommand(t, cmd)
			assert.Eventually(t, "three processes: between, Python, and its child",
				func() bool { return len(readersIn(c.Dir)) == 3 })
			assert.NoError(t, cmd.Process.Signal(sig))
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); sig != syscall.SIGKILL {
				if left := readersIn(c.Dir); code != 130 || len(left) > 0 {
					t.Errorf("it ended with %d, and left the processes %v, want code 130 and len(left) empty:\n%s", code, left, stderr)
				}
			}
			assert.Eventually(t, "the end of all processes", func() bool { return len(readersIn(c.Dir)) == 0 })
		})
	}
}

// readersIn are the running processes that read a model in a folder, besides the command.
func readersIn(dir string) (pids []int) {
	folders, _ := filepath.Glob("/proc/[0-9]*/cwd") // a fixed pattern
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
		if at, _ := os.Readlink(folder); err == nil && at == dir &&
			strings.Contains(harness.CommandLine(pid), "static.main") && harness.Alive(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}
