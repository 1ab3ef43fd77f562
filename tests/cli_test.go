package tests

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"pinion/tests/harness"
)

// ran is what became of a command.
type ran struct {
	code           int
	stdout, stderr string
}

// cli is the binary with these arguments, in dir, with the Python and an environment of tests.
type cli struct {
	python string // default: AnyPython's
	dir    string
	env    []string
	stdin  string
}

// cliTimeout is when a command is given up.
const cliTimeout = 2 * time.Minute

func (c cli) start(t testing.TB, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	python := c.python
	if python == "" {
		python = harness.AnyPython(t).Path
	}
	tmp := harness.ShortTempDir(t)
	ctx, cancel := context.WithTimeout(context.Background(), cliTimeout)
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, harness.Binary(t), args...)
	cmd.Dir = c.dir
	cmd.Env = append(append(harness.BareEnv(), "TMPDIR="+tmp, "PINION_PYTHON="+python), c.env...)
	cmd.Stdin = bytes.NewBufferString(c.stdin)
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	t.Cleanup(func() {
		left, err := os.ReadDir(tmp)
		if err != nil || len(left) > 0 {
			t.Errorf("the command left %v in its TMPDIR: %v", left, err)
		}
	})
	return cmd, stdout, stderr
}

// run runs a command until it ends.
func (c cli) run(t testing.TB, args ...string) ran {
	t.Helper()
	cmd, stdout, stderr := c.start(t, args...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run %v: %v\n%s", args, err, stderr)
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// good runs a command that is to end well, and returns its output.
func (c cli) good(t testing.TB, args ...string) string {
	t.Helper()
	got := c.run(t, args...)
	if got.code != 0 {
		t.Fatalf("%v ended with %d:\n%s%s", args, got.code, got.stdout, got.stderr)
	}
	return got.stdout
}

// bad runs a command that is to end with this exit code, and returns what it wrote to stderr.
func (c cli) bad(t testing.TB, code int, args ...string) string {
	t.Helper()
	got := c.run(t, args...)
	if got.code != code {
		t.Fatalf("%v ended with %d, want %d:\n%s%s", args, got.code, code, got.stdout, got.stderr)
	}
	return got.stderr
}

// folder is a new folder with these files: name, text, name, text ….
func folder(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i+1 < len(files); i += 2 {
		writeFile(t, filepath.Join(dir, files[i]), files[i+1])
	}
	return dir
}

func TestCLIHelpsABeginner(t *testing.T) {
	t.Parallel()
	c := cli{dir: t.TempDir()}
	wantText(t, "the short help", c.good(t), "pinion init", "pinion serve", "pinion predict")
	wantText(t, "a misspelt command", c.bad(t, 2, "predikt"), `unknown command "predikt"; did you mean predict?`)
	wantText(t, "no command at all", c.bad(t, 2, "xyzzyx"), "'pinion help' lists the commands")
	wantText(t, "a misspelt flag", c.bad(t, 2, "predict", "--jsn", "{}"), "did you mean --json?")
}

func TestCLIInitServesAtOnce(t *testing.T) {
	t.Parallel()
	c := cli{dir: t.TempDir()}
	wantText(t, "the next steps", c.good(t, "init", "new"), "wrote new/cog.yaml", "wrote new/run.py", "pinion serve new")
	for _, name := range []string{"cog.yaml", "run.py", "requirements.txt", ".dockerignore"} {
		if _, err := os.Stat(filepath.Join(c.dir, "new", name)); err != nil {
			t.Error(err)
		}
	}
	same(t, "it says", c.good(t, "predict", "new", "-i", "name=Ada", "-i", "times=2"), "hello Ada hello Ada\n")
	c.good(t, "check", "--setup", "new")
	s := harness.Ready(t, harness.Options{Dir: filepath.Join(c.dir, "new")})
	sameJSON(t, "output", s.Succeed(input{}).Output, `"hello world"`)
}

func TestCLIInitOverwritesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cog.yaml", "run.py", "predict.py"} {
		c := cli{dir: folder(t, name, "mine")}
		wantText(t, "the refusal", c.bad(t, 1, "init"), "has a "+name+" already, and nothing is overwritten")
		if files, err := os.ReadDir(c.dir); err != nil || len(files) != 1 {
			t.Errorf("there are %v: %v", files, err)
		}
	}
	c := cli{dir: folder(t, "requirements.txt", "mine")}
	wantText(t, "what it did", c.good(t, "init"), "wrote run.py", "kept  requirements.txt")
	if text, err := os.ReadFile(filepath.Join(c.dir, "requirements.txt")); err != nil || string(text) != "mine" {
		t.Errorf("requirements.txt holds %q: %v", text, err)
	}
}

// interrupted waits for the end of a command that is to end as Ctrl-C ends it.
func interrupted(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	_ = cmd.Wait() // ProcessState says how it ended
	if cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
}
