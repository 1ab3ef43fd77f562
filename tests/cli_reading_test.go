package tests

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/harness"
)

// installingModel is as public models are that install at their top what they import below.
const installingModel = `import os
os.system("touch installed && pip install absent-enhancer")
import torch
try:
    from cog import BasePredictor, Input, Path
    from absent_enhancer import Enhancer
except Exception:
    print("please install cog and absent_enhancer")

class Predictor(BasePredictor):
    def setup(self):
        self.enhancer = Enhancer()

    def predict(self, image: Path, scale: float = Input(default=2)) -> Path:
        ...
`

// undecidedModel is one whose source alone does not decide; before is what runs at its import.
func undecidedModel(before string) string {
	return "import os, random\n" + before + "\ndef run(n: int = random.choice([3])) -> int:\n    return n\n"
}

// notThere fails where a file is in a folder.
func notThere(t testing.TB, dir, name string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
		t.Errorf("%s is there (%v): the model's file was executed", name, err)
	}
}

func TestCLIReadsAModelThatInstallsAtItsTop(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		c := cli{python: python.Path, dir: folder(t, "predict.py", installingModel)}
		for _, flags := range [][]string{nil, {"--static"}} {
			wantText(t, "the input", c.good(t, append([]string{"schema", "--input"}, flags...)...), `"image"`, `"scale"`)
		}
		wantText(t, "the check", c.good(t, "check"), "warning: predict.py:2: os.system(…) runs a command when the file is imported",
			"its source alone was looked at", "no problem and 1 warning: predict.py reads well")
		wantText(t, "the prediction", c.bad(t, 2, "predict", "-i", "size=2"), `unknown input "size"; valid inputs are: image, scale`)
		notThere(t, c.dir, "installed")
	})
}

// everyPlaceModel would make a file at every place where Python runs code of a model's file; calm keeps what the place needs.
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
    def predict(self, n: calm("annotation", int) = calm("default", 3), quoted: "calm('quoted')" = 4,
                s: str = Input(default=Text("x"), description=Text("said"), choices=["x"])) -> Out:
        calm("predict")
`

// escapingModel gets past an audit hook of Python: by other copies of its modules and interpreters, by C code that opens
// files itself, by the objects of the program that reads it. And it writes where the command does.
const escapingModel = `import inspect, warnings
from cog import BasePredictor, Input
os, sys, imp = inspect.os, inspect.sys, inspect.importlib.import_module

def attempt(effect):
    try: effect()
    except BaseException: pass

def copied():
    create, found = imp("_imp"), inspect.importlib.machinery.ModuleSpec("posix", inspect.importlib.machinery.BuiltinImporter)
    posix = create.create_builtin(found)
    create.exec_builtin(posix)
    for fd in 1, 2: posix.write(fd, b"LEAK")
    posix.mkfifo("made-pipe")
    posix.mknod("made-node")

def interpreted():
    for name in "_interpreters", "_xxsubinterpreters":
        attempt(lambda: imp(name).run_string(imp(name).create(), "open('made-inside', 'w')"))
    attempt(lambda: imp("concurrent.interpreters").create().exec("open('made-inside', 'w')"))

def opened():
    for found in imp("gc").get_objects():
        if type(found).__name__ == "Fence": found.open()
    os.mkdir("made-open")

def logged(): imp("ssl").create_default_context().keylog_filename = "made-keylog"
def remembered(): imp("readline").write_history_file("made-history")
def shared(): imp("_posixshmem").shm_open("/pinion-made", os.O_CREAT | os.O_RDWR)
def locked(): imp("_multiprocessing").SemLock(1, 1, 1, "/pinion-made", False)
def said():
    sys.stdout.write("LEAK"); sys.stdout.flush(); sys.stderr.write("LEAK"); sys.stderr.flush()
def traced(): imp("faulthandler").dump_traceback()
def warned(): warnings.warn("LEAK")
def threaded(): imp("threading").Thread(target=lambda: 1 / 0).start()
def shown(): sys.displayhook("LEAK")

for effect in copied, interpreted, logged, remembered, shared, locked, said, traced, warned, threaded, shown, opened:
    attempt(effect)
1 is 1

class Predictor(BasePredictor):
    def predict(self, n: int = Input(default=3)) -> int: ...
`

func TestCLIStaticReadingIsFencedByTheKernel(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		shared := fmt.Sprintf("pinion-made-%d-%s", os.Getpid(), python.Name()) // which other runs of this test do not make
		c := cli{python: python.Path, dir: folder(t, "cog.yaml", "predict: predict.py:Predictor\n", "predict.py",
			strings.ReplaceAll(escapingModel, "pinion-made", shared))}
		before := filesBelow(t, c.dir)
		got := c.run(t, "schema", "--static", "--input")
		wantText(t, "the input", got.stdout, `"default": 3`)
		if got.code != 0 || got.stderr != "" || strings.Contains(got.stdout, "LEAK") {
			t.Errorf("it ended with %d, and said\n%s%s", got.code, got.stdout, got.stderr)
		}
		if after := filesBelow(t, c.dir); !slices.Equal(before, after) {
			t.Errorf("there were %q, and now there are %q", before, after)
		}
		for _, file := range []string{"/dev/shm/" + shared, "/dev/shm/sem." + shared} {
			if os.Remove(file) == nil {
				t.Errorf("it made %s", file)
			}
		}
	})
}

// The document is that of an import, and the folder is as it was: also after what the model leaves behind when the process ends.
func TestCLIStaticReadingLeavesNoTrace(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		dir := folder(t, "cog.yaml", "predict: predict.py:Predictor\n", "predict.py", everyPlaceModel,
			"beside.py", "import inspect, pathlib\npathlib.Path(__file__ + '-made').touch()\ninspect.os.system('touch made-beside')\n",
			"inner/__init__.py", "open(__file__ + '-made', 'w')\n", "inner/deep.py", "import pathlib\npathlib.Path(__file__ + '-made').mkdir()\n")
		c := cli{python: python.Path, dir: dir}
		before := filesBelow(t, dir)
		wantText(t, "the input", c.good(t, "schema", "--static", "--input"), `"default": 3`, `"default": 4`, `"default": "x"`)
		if after := filesBelow(t, dir); !slices.Equal(before, after) {
			t.Errorf("there were %q, and now there are %q", before, after)
		}
		c.good(t, "check", "--execute")
		if after := filesBelow(t, dir); len(after) < len(before)+30 {
			t.Errorf("an import makes too little for this test to say much: %q", after)
		}
	})
}

// filesBelow are the paths of all files and folders below one.
func filesBelow(t testing.TB, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		found = append(found, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCLINeverExecutesCommandsUnasked(t *testing.T) {
	t.Parallel()
	const command, dynamic = `os.system("touch ran")`, `getattr(os, "sys" + "tem")("touch ran")`
	const why = "run.py:3: random.choice(…): random is not imported when the source is only read"
	for _, statement := range []string{command, dynamic} {
		c := cli{dir: folder(t, "run.py", undecidedModel(statement))}
		wantText(t, "schema", c.bad(t, 1, "schema"), "run.py:2: os.system(…) runs a command when the file is imported",
			"so the model is not imported; --execute imports it all the same", "the source alone does not tell either: "+why)
		wantText(t, "schema --static", c.bad(t, 1, "schema", "--static"), "the source alone does not tell: "+why,
			"without --static the model is imported")
		checked := c.run(t, "check")
		if checked.code != 1 {
			t.Errorf("the check ended with %d", checked.code)
		}
		wantText(t, "check", checked.stdout, "run.py:2: os.system(…) runs a command", "--execute imports it all the same", "1 problem in")
		notThere(t, c.dir, "ran")
		wantText(t, "schema --execute", c.good(t, "schema", "--execute"), `"default": 3`)
		if _, err := os.Stat(filepath.Join(c.dir, "ran")); err != nil {
			t.Errorf("it was not executed: %v", err)
		}
		wantText(t, "check --execute", c.good(t, "check", "--execute"), "no problem: run.py loads")
		wantText(t, "check --setup", c.good(t, "check", "--setup"), "no problem: run.py loads and sets up")
	}
	wantText(t, "both", cli{dir: folder(t, "run.py", undecidedModel("pass"))}.bad(t, 2, "schema", "--static", "--execute"), "give one of them")
}

func TestCLISaysThatItImportsAModel(t *testing.T) {
	t.Parallel()
	got := cli{dir: folder(t, "run.py", undecidedModel("pass"))}.run(t, "schema")
	if got.code != 0 {
		t.Errorf("it ended with %d", got.code)
	}
	wantText(t, "stderr", got.stderr, "run.py:3: random.choice(…): random is not imported", "so the model is imported")
}

// A model whose source alone does not decide is imported by the worker that makes the prediction, and nowhere else.
// A wrong input is refused without waiting for the setup.
func TestCLIPredictExecutesAModelOnce(t *testing.T) {
	t.Parallel()
	model := func(setup string) string {
		return "import threading\n" + undecidedModel(`os.system("echo >> times")`) + "class Runner:\n    def setup(self):\n        " + setup +
			"\n    def run(self, n: int = random.choice([3])) -> int:\n        return n\n"
	}
	c := cli{dir: folder(t, "run.py", model("threading.Event().wait()"))}
	wantText(t, "a wrong input", c.bad(t, 2, "predict", "-i", "x=1"), `unknown input "x"; valid inputs are: n`)
	c = cli{dir: folder(t, "run.py", model("pass"))}
	if got := c.good(t, "predict"); got != "3\n" {
		t.Errorf("it printed %q", got)
	}
	if times, err := os.ReadFile(filepath.Join(c.dir, "times")); err != nil || len(times) != 1 {
		t.Errorf("it executed the model %d times: %v", len(times), err)
	}
	c.dir = folder(t, "run.py", undecidedModel("raise RuntimeError('no such thing')"))
	wantText(t, "a broken one", c.bad(t, 1, "predict"), "RuntimeError: no such thing")
}

// lastingModel starts processes when it is imported: one in its own session, one whose parent leaves it, and itself,
// which never ends. Their numbers go to the file pids.
const lastingModel = `
import subprocess, random, sys, threading
code = "import os, time; os.fork() and os._exit(0); time.sleep(3600)"
away = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
orphan = subprocess.Popen([sys.executable, "-c", "import os, time\npid = os.fork()\nif pid:\n    print(pid, flush=True)\n    os._exit(0)\nos.setsid()\ntime.sleep(3600)"], stdout=subprocess.PIPE)
pid = int(orphan.stdout.readline())
with open("pids.new", "w") as f:
    print(away.pid, pid, os.getpid(), os.getppid(), file=f)
os.rename("pids.new", "pids")
threading.Event().wait()
`

var endingSignals = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL}

func TestCLIReadingEndsWithItsProcesses(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"schema", "check"} {
		for _, sig := range endingSignals {
			t.Run(fmt.Sprint(command, " ", sig), func(t *testing.T) {
				t.Parallel()
				c := cli{dir: folder(t, "run.py", undecidedModel(lastingModel))}
				cmd, _, stderr := c.start(t, command, "--execute")
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				pids := startedProcesses(t, c.dir, stderr)
				if err := cmd.Process.Signal(sig); err != nil { // it alone, not its group
					t.Fatal(err)
				}
				_ = cmd.Wait()
				if code := cmd.ProcessState.ExitCode(); sig != syscall.SIGKILL {
					if code != 130 {
						t.Errorf("it ended with %d:\n%s", code, stderr)
					}
					for _, pid := range pids {
						if isRunning(pid) {
							t.Errorf("process %d runs after the command's end", pid)
						}
					}
				}
				harness.Eventually(t, "the end of all processes", func() bool {
					for _, pid := range pids {
						if isRunning(pid) {
							return false
						}
					}
					return true
				})
			})
		}
	}
}

// The model computes for years in one call, so that only a kill ends the process that reads it.
func TestCLIStaticReadingEndsWithItsProcesses(t *testing.T) {
	t.Parallel()
	for _, sig := range endingSignals {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			c := cli{dir: folder(t, "run.py", undecidedModel("YEARS = sum(range(10**15))"))}
			cmd, _, stderr := c.start(t, "schema", "--static")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			harness.Eventually(t, "three processes: between, Python, and its child", func() bool { return len(readersIn(c.dir)) == 3 })
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); sig != syscall.SIGKILL {
				if left := readersIn(c.dir); code != 130 || len(left) > 0 {
					t.Errorf("it ended with %d, and left the processes %v:\n%s", code, left, stderr)
				}
			}
			harness.Eventually(t, "the end of all processes", func() bool { return len(readersIn(c.dir)) == 0 })
		})
	}
}

// readersIn are the running processes that read a model in a folder, besides the command.
func readersIn(dir string) (pids []int) {
	folders, _ := filepath.Glob("/proc/[0-9]*/cwd") // a fixed pattern
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
		if at, _ := os.Readlink(folder); err == nil && at == dir && strings.Contains(commandLine(pid), "static.main") && isRunning(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestCLIReadingHasATimeLimit(t *testing.T) {
	t.Parallel()
	c := cli{dir: folder(t, "run.py", undecidedModel(lastingModel))}
	wantText(t, "schema", c.bad(t, 1, "schema", "--execute", "--timeout", "5s"), "it took longer than 5s, and was ended; --timeout gives it more time")
	if _, err := os.Stat(filepath.Join(c.dir, "pids")); err == nil { // a busy machine may not come so far in the time
		for _, pid := range startedProcesses(t, c.dir, &bytes.Buffer{}) {
			if isRunning(pid) {
				t.Errorf("process %d runs after the command's end", pid)
			}
		}
	}
	got := c.run(t, "check", "--execute", "--timeout", "1ms")
	if got.code != 1 {
		t.Errorf("the check ended with %d", got.code)
	}
	wantText(t, "check", got.stdout, "it took longer than 1ms")
	wantText(t, "a wrong limit", c.bad(t, 2, "schema", "--timeout", "0s"), "--timeout 0s: it is more than 0")
}

func TestCLIReadingSaysWhatAnImportDiedOf(t *testing.T) {
	t.Parallel()
	c := cli{dir: folder(t, "run.py", undecidedModel("import ctypes; ctypes.string_at(0)"))}
	wantText(t, "stderr", c.bad(t, 1, "schema"), "it died of a signal: SIGSEGV")
}

// startedProcesses are the numbers that lastingModel wrote.
func startedProcesses(t *testing.T, dir string, said *bytes.Buffer) (pids []int) {
	t.Helper()
	file := filepath.Join(dir, "pids")
	harness.Eventually(t, "the import", func() bool { _, err := os.Stat(file); return err == nil })
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err, said)
	}
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) != 4 {
		t.Fatalf("the model wrote %q", text)
	}
	t.Cleanup(func() {
		for _, pid := range pids {
			if isRunning(pid) && strings.Contains(commandLine(pid), "python") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	return pids
}

// isRunning reports whether a process is there, and not only its exit status.
func isRunning(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	after := stat[bytes.LastIndexByte(stat, ')')+1:]
	return !bytes.HasPrefix(after, []byte(" Z")) && !bytes.HasPrefix(after, []byte(" X"))
}

func commandLine(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may be gone
	return string(line)
}

// A model in a folder "cog", or in a file of that name, is served, read and checked alike: neither hides the package, nor
// is hidden by it.
func TestAModelThatHasTheNameOfThePackage(t *testing.T) {
	t.Parallel()
	const source = "from cog import BasePredictor, Input\nfrom sizes_beside import SIZES\n" +
		"class Predictor(BasePredictor):\n    def predict(self, n: int = Input(default=2, choices=SIZES)) -> int:\n        return n * len(SIZES)\n"
	for _, ref := range []string{"cog/predict.py:Predictor", "cog/cog.py:Predictor", "cog.py:Predictor"} {
		t.Run(ref, func(t *testing.T) {
			t.Parallel()
			file, _, _ := strings.Cut(ref, ":")
			dir := folder(t, "cog.yaml", "predict: "+ref+"\n", file, source, filepath.Join(filepath.Dir(file), "sizes_beside.py"), "SIZES = [1, 2]\n")
			harness.EachPython(t, func(t *testing.T, python harness.Python) {
				c := cli{python: python.Path, dir: dir}
				for _, flag := range []string{"--static", "--execute"} {
					wantText(t, "schema "+flag, c.good(t, "schema", flag), `"enum"`, "1,", "2")
				}
				wantText(t, "check", c.good(t, "check"), "no problem: "+ref+" loads")
				if got := c.good(t, "predict"); got != "4\n" {
					t.Errorf("it printed %q", got)
				}
			})
		})
	}
}

// The process in between is not a command for users.
func TestTheContainingProcessNeedsItsLifeline(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(harness.Binary(t), "--contain-program", "sleep", "3600")
	cmd.Env = harness.BareEnv()
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("it ended well: %s", out)
	}
}
