package workers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// gated is a model that describes its stdin, or waits.
const gated = `
import os
import sys

def run(how: str = "") -> str:
    if how == "stdin":
        return repr(sys.stdin.read()) + " of " + os.readlink("/proc/self/fd/0")
    print("begun")
    with open("gate") as gate:  # a named pipe: opens when the test does
        gate.read()
    return "finished"
`

// childOf is the one process that another has started.
func childOf(t *testing.T, parent int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	if err != nil {
		t.Skipf("this kernel does not tell of children: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatalf("the children of %d are %q, want one process id", parent, text)
	}
	return pid
}

// TestContainer_FirstProcessOfContainerStops as docker stop wants it: SIGTERM lets what runs finish, and ends it
// cleanly. To a first process signals do nothing that it has not asked for.
func TestContainer_FirstProcessOfContainerStops(t *testing.T) {
	t.Parallel()
	wrap := harness.AsFirstProcess(t)
	for _, busy := range []bool{false, true} {
		s := harness.Ready(t, harness.Options{Dir: harness.NewFolder(t, "run.py", gated), Wrap: wrap})
		open := harness.MakeFIFO(t, s.Dir, "gate")
		var running *harness.Request
		if busy {
			running = s.Request("running", harness.Input{})
			s.WaitLog("begun")
		}
		harness.SendSignal(t, childOf(t, s.PID), syscall.SIGTERM)
		harness.WaitDrain(s)
		if busy {
			open()
			harness.WantStatus(t, "what ran ended with", harness.Receive(t, running.Answer), "succeeded")
		}
		s.Ended(0)
	}
}

// TestContainer_WorkersDoNotReadServersStdin, be it a terminal, a pipe or a file.
func TestContainer_WorkersDoNotReadServersStdin(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", gated, "stdin.txt", "unread\n")
	s := harness.Ready(t, harness.Options{
		Dir: dir, Wrap: []string{"sh", "-c", `exec "$@" <"$0"`, filepath.Join(dir, "stdin.txt")},
	})
	assert.Equal(t, "the model reads", string(s.Succeed(harness.Input{"how": "stdin"}).Output), `"'' of /dev/null"`)
}

// TestContainer_ServeOnTerminal: Ctrl-C lets what runs finish, a second one does not; the model never hears of either.
func TestContainer_ServeOnTerminal(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		term := harness.NewTerminal(t)
		c := harness.CLI{Dir: harness.NewFolder(t, "run.py", gated)}
		open := harness.MakeFIFO(t, c.Dir, "gate")
		cmd, _, _ := c.Start(t, "serve", "--port", "0", "--host", "127.0.0.1", "--predictor", "run.py:run")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = term.Program, term.Program, term.Program
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		harness.StartCommand(t, cmd)
		shows := func(text string) {
			t.Helper()
			assert.Eventually(t, "the terminal shows "+text, func() bool { return strings.Contains(term.String(), text) })
		}
		press := func(key string) {
			t.Helper()
			_, err := term.User.WriteString(key)
			assert.NoError(t, err)
		}
		shows("worker ready")
		shows("The model is ready")
		press("never read\n")
		address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(term.String())
		answer := harness.At(address).Begin("running", harness.Input{})
		shows("begun")
		press("\x03")
		shows("shutting down")
		want := 0
		if again {
			press("\x03")
			want = 130
		} else {
			open()
			assert.Contains(t, "the answer", string(harness.Receive(t, answer).Body), `"status":"succeeded","output":"finished"`)
		}
		_ = cmd.Wait() // ProcessState says how it ended
		assert.True(t, cmd.ProcessState.ExitCode() == want, "it ended with %v, want %d\n%s", cmd.ProcessState, want, term)
		if text := term.String(); strings.Contains(text, "KeyboardInterrupt") {
			t.Errorf("the model was interrupted too, want no \"KeyboardInterrupt\" in it:\n%s", text)
		}
	}
}

// TestContainer_ServersUsageHintWorks: what it says at a terminal that one may type answers a prediction.
func TestContainer_ServersUsageHintWorks(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	socket := filepath.Join(harness.ShortTempDir(t), "s")
	for _, host := range []string{"0.0.0.0", "unix:" + socket} {
		term := harness.NewTerminal(t)
		c := harness.CLI{Dir: harness.NewFolder(t, "run.py", `
from cog import Input
def run(name: str = Input(choices=["it's", "b"]), n: int = Input(ge=3), more: str = "given") -> str:
    return f"{name} {n} {more}"
`)}
		cmd, _, _ := c.Start(t, "serve", "--port", "0", "--host", host, "--predictor", "run.py:run")
		cmd.Stdout, cmd.Stderr = term.Program, term.Program
		harness.StartCommand(t, cmd)
		var line string
		assert.Eventually(t, "the greeting is there", func() bool {
			line = regexp.MustCompile(`(?m)^  curl .*\}'`).FindString(term.String())
			return line != ""
		})
		assert.Eventually(t, "it names --queue", func() bool { return strings.Contains(term.String(), "With --queue 64 they wait") })
		out, err := exec.Command("sh", "-c", strings.Replace(line, "curl", "curl -s", 1)).Output()
		assert.NoError(t, err, line)
		assert.Contains(t, line, string(out), `"output":"it's 3 given"`)
		assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		err = cmd.Wait()
		assert.True(t, err == nil, "it: got %v, want no error\n%s", err, term)
	}
}
