package cli

import (
	"strings"
	"syscall"
	"testing"

	"pinion/tests/harness"
)

// gatedStream yields a token, waits at a FIFO, and yields the next.
const gatedStream = `
from cog import ConcatenateIterator, streaming
@streaming
def run(word: str = "token") -> ConcatenateIterator[str]:
    yield word + "-one "
    open("gate").read()
    yield word + "-two"
`

func TestCLI_TokensAppearAsTheyComeOnTerminal(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", gatedStream)}
	open := harness.MakeFIFO(t, c.Dir, "gate")
	tokensAppear(t, c, open, "predict", "-i", "word=local")
	s := harness.Ready(t, harness.Options{Dir: c.Dir})
	tokensAppear(t, c, open, "predict", "-i", "word=local", "--url", s.Address)
}

func tokensAppear(t *testing.T, c harness.CLI, open func(), args ...string) {
	t.Helper()
	term := harness.NewTerminal(t)
	cmd, _, stderr := c.Start(t, args...)
	cmd.Stdout = term.Program
	harness.StartCommand(t, cmd)
	harness.Eventually(t, "the first token is there", func() bool { return strings.Contains(term.String(), "local-one ") })
	if strings.Contains(term.String(), "two") {
		t.Errorf("the second is too: %q", term)
	}
	open()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	harness.Eventually(t, "all is there",
		func() bool { return strings.HasSuffix(term.String(), "local-one local-two\r\n") })
}

func TestCLI_ProgressStandsOnTerminalOnly(t *testing.T) {
	t.Parallel()
	progress := func(env ...string) string {
		t.Helper()
		term := harness.NewTerminal(t)
		c := harness.CLI{Dir: harness.NewFolder(t, "run.py",
			"def setup(): ...\ndef run() -> str:\n    open('gate').read()\n    return 'done'\n"), Env: env}
		open := harness.MakeFIFO(t, c.Dir, "gate")
		cmd, stdout, _ := c.Start(t, "predict")
		cmd.Stderr = term.Program
		harness.StartCommand(t, cmd)
		if len(env) == 0 {
			harness.Eventually(t, "the progress is there", func() bool { return strings.Contains(term.String(), "predicting") })
		}
		open()
		if err := cmd.Wait(); err != nil || stdout.String() != "done\n" {
			t.Errorf("%v, and it printed %q", err, stdout)
		}
		return term.String()
	}
	progress()
	harness.Equal(t, "with NO_COLOR there", progress("NO_COLOR=1"), "")
}

func TestCLI_InterruptsOfTerminalCancel(t *testing.T) {
	t.Parallel()
	term := harness.NewTerminal(t)
	c := asker(t)
	cmd, _, _ := c.Start(t, "predict", "-i", "how=wait")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.Program, term.Program, term.Program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	harness.StartCommand(t, cmd)
	harness.Eventually(t, "the model predicts", func() bool { return strings.Contains(term.String(), "predicting wait") })
	if _, err := term.User.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	interrupted(t, cmd)
	harness.Eventually(t, "its last words are there",
		func() bool { return strings.Contains(term.String(), "Prediction canceled") })
	harness.WantText(t, "the terminal", term.String(), "cleaned up", "Prediction canceled")
}
