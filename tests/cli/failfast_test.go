package cli

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// serveOnTerminal starts 'pinion serve' with a terminal as stderr.
func serveOnTerminal(t *testing.T, dir string, args ...string) (*exec.Cmd, *harness.Terminal) {
	t.Helper()
	term := harness.NewTerminal(t)
	cmd, _, _ := harness.CLI{Dir: dir}.Start(t, append([]string{"serve", "-p", "0", "--host", "127.0.0.1"}, args...)...)
	cmd.Stderr = term.Program
	harness.StartCommand(t, cmd)
	return cmd, term
}

// TestFailFast_OnTerminalFailedSetupEndsServer with exit code 1; the cause is the last that it says, once, and what to
// do.
func TestFailFast_OnTerminalFailedSetupEndsServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, source, once, last string
	}{
		{
			"exception", "class Runner:\n    def setup(self):\n        print('loading')\n        self.load()\n    def load(self): open('weights.bin')\n    def run(self) -> str: ...\n",
			"Traceback (most recent call last):\n",
			`FileNotFoundError: [Errno 2] No such file or directory: 'weights.bin'` + "\n",
		},
		{
			"import", "import not_installed\ndef run() -> str: ...\n",
			"ModuleNotFoundError: No module named 'not_installed'", " not_installed`\n",
		},
		{
			"signature", "def run(a: bytes) -> str: ...\n", "bytes is not supported",
			`run.py:1: parameter "a" of run: bytes is not supported` + "\n    use cog.Path for binary data\n",
		},
		{"syntax", "def run(\n", "SyntaxError: ", "    correct the line; Python cannot read the file\n"},
		{
			"death", "import os\nclass Runner:\n    def setup(self): os._exit(9)\n    def run(self) -> str: ...\n",
			"worker exited with code 9 during setup", "ended the process\n    what the model printed stands above\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd, term := serveOnTerminal(t, harness.NewFolder(t, "run.py", c.source), "--workers", "2")
			_ = cmd.Wait() // ProcessState says how it ended
			assert.Eventually(t, "all is there", func() bool { return strings.HasSuffix(term.Shown(), c.last) })
			text := term.Shown()
			if code := cmd.ProcessState.ExitCode(); code != 1 || strings.Count(text, c.once) != 1 {
				t.Errorf("exit code %d, %d times %q in, want 1 and 1:\n%s", code, strings.Count(text, c.once), c.once, text)
			}
			assert.True(t, !strings.Contains(text, "cog/_worker") && !strings.Contains(text, "LoadError"),
				"our own frames are in it, want it without \"cog/_worker\" and without \"LoadError\":\n%s", text)
		})
	}
}

func TestFailFast_IsSaidByFlagOrVariable(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py",
		"class Runner:\n    def setup(self): raise ValueError('no weights')\n    def run(self) -> str: ...\n")
	for _, o := range []harness.Options{{Args: []string{"--fail-fast"}}, {Env: []string{"PINION_FAIL_FAST=true"}}} {
		o.Dir = dir
		s := harness.Start(t, o)
		s.Ended(1)
		assert.Equal(t, "the cause is there", strings.Count(s.Log.String(), "ValueError: no weights\\n"), 1)
		lines := s.Log.Lines()
		if last := lines[len(lines)-1]; last.Text != "setup failed" || last.Level != "ERROR" {
			t.Errorf(`the last line is %+v, want Text "setup failed" and Level ERROR`, last)
		}
	}
	stays := harness.Start(t, harness.Options{Dir: dir, Args: []string{"--fail-fast=false"}})
	stays.WaitHealth("SETUP_FAILED")

	cmd, term := serveOnTerminal(t, dir, "--fail-fast=false")
	assert.Eventually(t, "the setup has failed",
		func() bool { return strings.Contains(term.Shown(), "no worker will be started in its place") })
	assert.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	err := cmd.Wait()
	assert.True(t, err == nil, "it had ended before: got %v, want no error", err)
}

// TestFailFast_IsForStart: a server that was ready once stays up.
func TestFailFast_IsForStart(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "setups.py:Second", Args: []string{"--fail-fast", "--restart", "never"}})
	s.Fail(harness.Input{})
	s.WaitHealth("DEFUNCT")
}
