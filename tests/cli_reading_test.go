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
		wantText(t, "the check", c.good(t, "check"),
			"warning: predict.py:2: os.system(…) runs a command when the file is imported",
			"its source alone was looked at", "no problem and 1 warning: predict.py reads well")
		wantText(t, "the prediction", c.bad(t, 2, "predict", "-i", "size=2"),
			`unknown input "size"; valid inputs are: image, scale`)
		notThere(t, c.dir, "installed")
	})
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
		same(t, "the check ended with", checked.code, 1)
		wantText(t, "check", checked.stdout, "run.py:2: os.system(…) runs a command", "--execute imports it all the same",
			"1 problem in")
		notThere(t, c.dir, "ran")
		wantText(t, "schema --execute", c.good(t, "schema", "--execute"), `"default": 3`)
		if _, err := os.Stat(filepath.Join(c.dir, "ran")); err != nil {
			t.Errorf("it was not executed: %v", err)
		}
		wantText(t, "check --execute", c.good(t, "check", "--execute"), "no problem: run.py loads")
		wantText(t, "check --setup", c.good(t, "check", "--setup"), "no problem: run.py loads and sets up")
	}
	wantText(t, "both", cli{dir: folder(t, "run.py", undecidedModel("pass"))}.bad(t, 2, "schema", "--static", "--execute"),
		"give one of them")
}

func TestCLISaysThatItImportsAModel(t *testing.T) {
	t.Parallel()
	got := cli{dir: folder(t, "run.py", undecidedModel("pass"))}.run(t, "schema")
	same(t, "it ended with", got.code, 0)
	wantText(t, "stderr", got.stderr, "run.py:3: random.choice(…): random is not imported", "so the model is imported")
}

// A model whose source alone does not decide is imported by the worker that makes the prediction, and nowhere else.
// A wrong input is refused without waiting for the setup.
func TestCLIPredictExecutesAModelOnce(t *testing.T) {
	t.Parallel()
	model := func(setup string) string {
		return "import threading\n" + undecidedModel(`os.system("echo >> times")`) +
			"class Runner:\n    def setup(self):\n        " + setup +
			"\n    def run(self, n: int = random.choice([3])) -> int:\n        return n\n"
	}
	c := cli{dir: folder(t, "run.py", model("threading.Event().wait()"))}
	wantText(t, "a wrong input", c.bad(t, 2, "predict", "-i", "x=1"), `unknown input "x"; valid inputs are: n`)
	c = cli{dir: folder(t, "run.py", model("pass"))}
	same(t, "what it prints", c.good(t, "predict"), "3\n")
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
				launch(t, cmd)
				pids := startedProcesses(t, c.dir, stderr)
				if err := cmd.Process.Signal(sig); err != nil { // it alone, not its group
					t.Fatal(err)
				}
				_ = cmd.Wait()
				if code := cmd.ProcessState.ExitCode(); sig != syscall.SIGKILL {
					same(t, "it ended with", code, 130)
					allEnded(t, pids)
				}
				harness.Eventually(t, "the end of all processes", func() bool { return !slices.ContainsFunc(pids, harness.Alive) })
			})
		}
	}
}

func TestCLIReadingHasATimeLimit(t *testing.T) {
	t.Parallel()
	c := cli{dir: folder(t, "run.py", undecidedModel(lastingModel))}
	wantText(t, "schema", c.bad(t, 1, "schema", "--execute", "--timeout", "5s"),
		"it took longer than 5s, and was ended; --timeout gives it more time")
	if _, err := os.Stat(filepath.Join(c.dir, "pids")); err == nil { // a busy machine may not come so far in the time
		allEnded(t, startedProcesses(t, c.dir, &bytes.Buffer{}))
	}
	got := c.run(t, "check", "--execute", "--timeout", "1ms")
	same(t, "the check ended with", got.code, 1)
	wantText(t, "check", got.stdout, "it took longer than 1ms")
	wantText(t, "a wrong limit", c.bad(t, 2, "schema", "--timeout", "0s"), "--timeout 0s: must be more than 0")
}

func TestCLIReadingSaysWhatAnImportDiedOf(t *testing.T) {
	t.Parallel()
	c := cli{dir: folder(t, "run.py", undecidedModel("import ctypes; ctypes.string_at(0)"))}
	wantText(t, "stderr", c.bad(t, 1, "schema"), "it died of a signal: SIGSEGV")
}

// allEnded fails where a process outlives its command.
func allEnded(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if harness.Alive(pid) {
			t.Errorf("process %d runs after the command's end", pid)
		}
	}
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
			if harness.Alive(pid) && strings.Contains(harness.CommandLine(pid), "python") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	return pids
}

// A model in a folder "cog", or in a file of that name, is served, read and checked alike: neither hides the package,
// nor is hidden by it.
func TestAModelThatHasTheNameOfThePackage(t *testing.T) {
	t.Parallel()
	const source = "from cog import BasePredictor, Input\nfrom sizes_beside import SIZES\n" +
		"class Predictor(BasePredictor):\n    def predict(self, n: int = Input(default=2, choices=SIZES)) -> int:\n        return n * len(SIZES)\n"
	for _, ref := range []string{"cog/predict.py:Predictor", "cog/cog.py:Predictor", "cog.py:Predictor"} {
		t.Run(ref, func(t *testing.T) {
			t.Parallel()
			file, _, _ := strings.Cut(ref, ":")
			dir := folder(t, "cog.yaml", "predict: "+ref+"\n", file, source,
				filepath.Join(filepath.Dir(file), "sizes_beside.py"), "SIZES = [1, 2]\n")
			harness.EachPython(t, func(t *testing.T, python harness.Python) {
				c := cli{python: python.Path, dir: dir}
				for _, flag := range []string{"--static", "--execute"} {
					wantText(t, "schema "+flag, c.good(t, "schema", flag), `"enum"`, "1,", "2")
				}
				wantText(t, "check", c.good(t, "check"), "no problem: "+ref+" loads")
				same(t, "what it prints", c.good(t, "predict"), "4\n")
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
