package harness

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
)

// CommandResult is the result of a command.
type CommandResult struct {
	Code           int
	Stdout, Stderr string
}

// CLI is the binary with these arguments, in dir, with the Python and an environment of tests.
type CLI struct {
	Python string // default: AnyPython's
	Dir    string
	Env    []string
	Stdin  string
}

// CliTimeout is how long a command may take.
const CliTimeout = 2 * time.Minute

// Start prepares a command, which the test starts, and where its output goes.
func (c CLI) Start(t testing.TB, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	python := c.Python
	if python == "" {
		python = AnyPython(t).Path
	}
	tmp := ShortTempDir(t)
	ctx, cancel := context.WithTimeout(context.Background(), CliTimeout)
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, Binary(t), args...)
	cmd.Dir = c.Dir
	cmd.Env = append(append(BareEnv(), "TMPDIR="+tmp, "PINION_PYTHON="+python), c.Env...)
	cmd.Stdin = bytes.NewBufferString(c.Stdin)
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	t.Cleanup(func() {
		left, err := os.ReadDir(tmp)
		assert.True(t, err == nil && len(left) == 0, "the command left %v in its TMPDIR: %v", left, err)
	})
	return cmd, stdout, stderr
}

// Run runs a command until it ends.
func (c CLI) Run(t testing.TB, args ...string) CommandResult {
	t.Helper()
	cmd, stdout, stderr := c.Start(t, args...)
	err := cmd.Run()
	var exit *exec.ExitError
	assert.TrueNow(t, err == nil || errors.As(err, &exit),
		"run %v: %v, want no error or an error of type *exec.ExitError\n%s", args, err, stderr)
	return CommandResult{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// Good runs a command that must succeed, and returns its output.
func (c CLI) Good(t testing.TB, args ...string) string {
	t.Helper()
	got := c.Run(t, args...)
	assert.TrueNow(t, got.Code == 0, "%v ended with %d, want 0:\n%s%s", args, got.Code, got.Stdout, got.Stderr)
	return got.Stdout
}

// Bad runs a command that is to end with this exit code, and returns what it wrote to stderr.
func (c CLI) Bad(t testing.TB, code int, args ...string) string {
	t.Helper()
	got := c.Run(t, args...)
	assert.TrueNow(t, got.Code == code, "%v ended with %d, want %d:\n%s%s", args, got.Code, code, got.Stdout, got.Stderr)
	return got.Stderr
}

// RunTool runs a command in a folder, and returns what it prints.
func RunTool(t *testing.T, dir string, env []string, name string, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir, command.Env = dir, append(BareEnv(), append(env, "NO_COLOR=1", "TMPDIR="+t.TempDir())...)
	out, err := command.CombinedOutput()
	assert.NoError(t, err, command, out)
	return string(out)
}

// StartCommand starts a command.
func StartCommand(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	assert.NoError(t, cmd.Start())
}

// RunBeside runs a program until the test's end, and shows its output if the test failed.
func RunBeside(t testing.TB, name string, cmd *exec.Cmd) *Log {
	t.Helper()
	says := &Log{}
	cmd.Stdout, cmd.Stderr = says, says
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	StartCommand(t, cmd)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s says: %s", name, says)
		}
	})
	return says
}

// SendSignal sends a signal to a process, or to the group of a negative one.
func SendSignal(t testing.TB, pid int, sig syscall.Signal) {
	t.Helper()
	if pid == 0 || pid == -1 { // that would be the test itself, or all that there is
		t.Fatalf("nothing to kill: %d, want not 0 and not -1", pid)
	}
	assert.NoError(t, syscall.Kill(pid, sig))
}
