package cli

import (
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// onTerminal runs a command with a terminal as stdout until it has printed a text, and returns what it printed. The
// exit code is the caller's business.
func onTerminal(t *testing.T, c harness.CLI, last string, args ...string) string {
	t.Helper()
	term := harness.NewTerminal(t)
	cmd, _, _ := c.Start(t, args...)
	cmd.Stdout = term.Program
	harness.StartCommand(t, cmd)
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() < 0 {
		t.Fatal(err)
	}
	assert.Eventually(t, "all is shown", func() bool { return strings.Contains(term.Shown(), last) })
	return term.String()
}

func TestColours_OnATerminalAlone(t *testing.T) {
	t.Parallel()
	good := harness.CLI{Dir: harness.NewFolder(t, "run.py", "def run() -> int: return 1\n")}
	assert.Contains(t, "a good model", onTerminal(t, good, "with Python", "check"), "\x1b[92mno problem\x1b[0m: ")
	bad := harness.CLI{Dir: harness.NewFolder(t, "run.py", "def run() -> int: return 1\n", "cog.yaml",
		"run: run.py:run\nconcurrency:\n  max: many\nbild: {}\nbuild:\n  fast: true\n")}
	assert.Contains(t, "a bad one", onTerminal(t, bad, "problem", "check"), "\x1b[91mcog.yaml:3", "\x1b[91m")
	assert.Contains(t, "differences", onTerminal(t, bad, "in ", "doctor"), "\x1b[93mdifferent: \x1b[0m")
	for _, c := range []harness.CommandResult{bad.Run(t, "check"), bad.Run(t, "doctor")} {
		assert.Equal(t, "escapes in a pipe", strings.Count(c.Stdout, "\x1b"), 0)
	}
	for _, variable := range []string{"NO_COLOR=1", "TERM=dumb"} {
		bad.Env = []string{variable}
		for _, command := range []string{"check", "doctor"} {
			shown := onTerminal(t, bad, "problem", command)
			assert.Equal(t, command+" with "+variable+", escapes", strings.Count(shown, "\x1b"), 0)
		}
	}
}

// TestPredict_FileOnATerminalEndsItsLine, and elsewhere it is printed as it is.
func TestPredict_FileOnATerminalEndsItsLine(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", `
from cog import Path
def run() -> Path:
    out = Path("out.txt")
    out.write_text("no line end")
    return out
`)}
	assert.Contains(t, "on a terminal", onTerminal(t, c, "no line end", "predict", "-o", "-"), "no line end\r\n")
	assert.Equal(t, "in a pipe", c.Good(t, "predict", "-o", "-"), "no line end")
}

// TestServe_LogsWhatCheckFinds in cog.yaml.
func TestServe_LogsWhatCheckFinds(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Dir: harness.NewFolder(t, "run.py", "def run() -> int: return 1\n", "cog.yaml",
		"run: run.py:run\nbild: {}\n")})
	s.WaitLog(`cog.yaml:2: unknown key "bild"`)
}
