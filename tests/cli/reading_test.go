package cli

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

	"pinion/tests/assert"
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
	_, err := os.Stat(filepath.Join(dir, name))
	assert.True(t, os.IsNotExist(err), "%s is there (%v): the model's file was executed, want os.ErrNotExist", name, err)
}

func TestCLI_ReadsModelThatInstallsAtItsTop(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		c := harness.CLI{Python: python.Path, Dir: harness.NewFolder(t, "predict.py", installingModel)}
		for _, flags := range [][]string{nil, {"--static"}} {
			assert.Contains(t, "the input", c.Good(t, append([]string{"schema", "--input"}, flags...)...), `"image"`, `"scale"`)
		}
		assert.Contains(t, "the check", c.Good(t, "check"),
			"warning: predict.py:2: os.system(…) runs a command when the file is imported",
			"its source alone was looked at", "no problem and 1 warning: predict.py reads well")
		assert.Contains(t, "the prediction", c.Bad(t, 2, "predict", "-i", "size=2"),
			`unknown input "size"; valid inputs are: image, scale`)
		notThere(t, c.Dir, "installed")
	})
}

func TestReading_CLINeverExecutesCommandsUnasked(t *testing.T) {
	t.Parallel()
	const command, dynamic = `os.system("touch ran")`, `getattr(os, "sys" + "tem")("touch ran")`
	const why = "run.py:3: random.choice(…): random is not imported when the source is only read"
	for _, statement := range []string{command, dynamic} {
		c := harness.CLI{Dir: harness.NewFolder(t, "run.py", undecidedModel(statement))}
		assert.Contains(t, "schema", c.Bad(t, 1, "schema"), "run.py:2: os.system(…) runs a command when the file is imported",
			"so the import was stopped there; --execute imports it all the same", "the source alone does not tell either: "+why)
		assert.Contains(t, "schema --static", c.Bad(t, 1, "schema", "--static"), "the source alone does not tell: "+why,
			"without --static the model is imported")
		checked := c.Run(t, "check")
		assert.Equal(t, "the check ended with", checked.Code, 1)
		assert.Contains(t, "check", checked.Stdout, "run.py:2: os.system(…) runs a command",
			"--execute imports it all the same", "1 problem in")
		notThere(t, c.Dir, "ran")
		assert.Contains(t, "schema --execute", c.Good(t, "schema", "--execute"), `"default": 3`)
		_, err := os.Stat(filepath.Join(c.Dir, "ran"))
		assert.True(t, err == nil, "it was not executed: got %v, want no error", err)
		assert.Contains(t, "check --execute", c.Good(t, "check", "--execute"), "no problem: run.py loads")
		assert.Contains(t, "check --setup", c.Good(t, "check", "--setup"), "no problem: run.py loads and sets up")
	}
	assert.Contains(t, "both", harness.CLI{Dir: harness.NewFolder(t, "run.py", undecidedModel("pass"))}.Bad(t, 2,
		"schema", "--static", "--execute"),
		"give one of them")
}

func TestCLI_SaysThatItImportsModel(t *testing.T) {
	t.Parallel()
	got := harness.CLI{Dir: harness.NewFolder(t, "run.py", undecidedModel("pass"))}.Run(t, "schema")
	assert.Equal(t, "it ended with", got.Code, 0)
	assert.Contains(t, "stderr", got.Stderr, "run.py:3: random.choice(…): random is not imported",
		"so the model is imported")
}

// A model whose source alone does not decide is imported by the worker that makes the prediction, and nowhere else.
// A wrong input is refused without waiting for the setup.
func TestCLI_PredictExecutesModelOnce(t *testing.T) {
	t.Parallel()
	model := func(setup string) string {
		return "import threading\n" + undecidedModel(`os.system("echo >> times")`) +
			"class Runner:\n    def setup(self):\n        " + setup +
			"\n    def run(self, n: int = random.choice([3])) -> int:\n        return n\n"
	}
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", model("threading.Event().wait()"))}
	assert.Contains(t, "a wrong input", c.Bad(t, 2, "predict", "-i", "x=1"), `unknown input "x"; valid inputs are: n`)
	c = harness.CLI{Dir: harness.NewFolder(t, "run.py", model("pass"))}
	assert.Equal(t, "what it prints", c.Good(t, "predict"), "3\n")
	times, err := os.ReadFile(filepath.Join(c.Dir, "times"))
	assert.True(t, err == nil && len(times) == 1, "it executed the model %d times: %v, want 1 bytes", len(times), err)
	c.Dir = harness.NewFolder(t, "run.py", undecidedModel("raise RuntimeError('no such thing')"))
	assert.Contains(t, "a broken one", c.Bad(t, 1, "predict"), "RuntimeError: no such thing")
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

func TestReading_CLIReadingEndsWithItsProcesses(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"schema", "check"} {
		for _, sig := range endingSignals {
			t.Run(fmt.Sprint(command, " ", sig), func(t *testing.T) {
				t.Parallel()
				c := harness.CLI{Dir: harness.NewFolder(t, "run.py", undecidedModel(lastingModel))}
				cmd, _, stderr := c.Start(t, command, "--execute")
				harness.StartCommand(t, cmd)
				pids := startedProcesses(t, c.Dir, stderr)
				if err := cmd.Process.Signal(sig); err != nil { // it alone, not its group
					t.Fatal(err)
				}
				_ = cmd.Wait()
				if code := cmd.ProcessState.ExitCode(); sig != syscall.SIGKILL {
					assert.Equal(t, "it ended with", code, 130)
					allEnded(t, pids)
				}
				assert.Eventually(t, "the end of all processes", func() bool { return !slices.ContainsFunc(pids, harness.Alive) })
			})
		}
	}
}

func TestCLIReading_HasTimeLimit(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", undecidedModel(lastingModel))}
	assert.Contains(t, "schema", c.Bad(t, 1, "schema", "--execute", "--timeout", "5s"),
		"it took longer than 5s, and was ended; --timeout gives it more time")
	if _, err := os.Stat(filepath.Join(c.Dir, "pids")); err == nil { // a busy machine may not come so far in the time
		allEnded(t, startedProcesses(t, c.Dir, &bytes.Buffer{}))
	}
	got := c.Run(t, "check", "--execute", "--timeout", "1ms")
	assert.Equal(t, "the check ended with", got.Code, 1)
	assert.Contains(t, "check", got.Stdout, "it took longer than 1ms")
	assert.Contains(t, "a wrong limit", c.Bad(t, 2, "schema", "--timeout", "0s"), "--timeout 0s: must be more than 0")
}

func TestCLIReading_SaysWhatImportDiedOf(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", undecidedModel("import ctypes; ctypes.string_at(0)"))}
	assert.Contains(t, "stderr", c.Bad(t, 1, "schema"), "it died of a signal: SIGSEGV")
}

// allEnded fails where a process outlives its command.
func allEnded(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		assert.False(t, harness.Alive(pid), "process %d runs after the command's end, want harness.Alive(pid) false", pid)
	}
}

// startedProcesses are the numbers that lastingModel wrote.
func startedProcesses(t *testing.T, dir string, said *bytes.Buffer) (pids []int) {
	t.Helper()
	file := filepath.Join(dir, "pids")
	assert.Eventually(t, "the import", func() bool { _, err := os.Stat(file); return err == nil })
	text, err := os.ReadFile(file)
	assert.NoError(t, err, said)
	for _, field := range strings.Fields(string(text)) {
		pid := assert.Must(strconv.Atoi(field))(t)
		pids = append(pids, pid)
	}
	assert.EqualNow(t, fmt.Sprintf("the model wrote %q", text), len(pids), 4)
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
func TestReading_ModelThatHasNameOfPackage(t *testing.T) {
	t.Parallel()
	const source = "from cog import BasePredictor, Input\nfrom sizes_beside import SIZES\n" +
		"class Predictor(BasePredictor):\n    def predict(self, n: int = Input(default=2, choices=SIZES)) -> int:\n        return n * len(SIZES)\n"
	for _, ref := range []string{"cog/predict.py:Predictor", "cog/cog.py:Predictor", "cog.py:Predictor"} {
		t.Run(ref, func(t *testing.T) {
			t.Parallel()
			file, _, _ := strings.Cut(ref, ":")
			dir := harness.NewFolder(t, "cog.yaml", "predict: "+ref+"\n", file, source,
				filepath.Join(filepath.Dir(file), "sizes_beside.py"), "SIZES = [1, 2]\n")
			harness.EachPython(t, func(t *testing.T, python harness.Python) {
				c := harness.CLI{Python: python.Path, Dir: dir}
				for _, flag := range []string{"--static", "--execute"} {
					assert.Contains(t, "schema "+flag, c.Good(t, "schema", flag), `"enum"`, "1,", "2")
				}
				assert.Contains(t, "check", c.Good(t, "check"), "no problem: "+ref+" loads")
				assert.Equal(t, "what it prints", c.Good(t, "predict"), "4\n")
			})
		})
	}
}

// The process in between is not a command for users.
func TestReading_ContainingProcessNeedsItsLifeline(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(harness.Binary(t), "--contain-program", "sleep", "3600")
	cmd.Env = harness.BareEnv()
	out, err := cmd.CombinedOutput()
	assert.True(t, err != nil, "it ended well: %s", out)
}
