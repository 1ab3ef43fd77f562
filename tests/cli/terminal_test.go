package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
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

const gatedLogs = `
from cog import ConcatenateIterator, streaming
def lines():
    print("first")
    print("half a ", end="", flush=True)
    open("gate").read()
    print("line")
def run() -> str:
    lines()
    return "done"
def train() -> str:
    lines()
    return "done"
@streaming
def stream() -> ConcatenateIterator[str]:
    lines()
    yield "done"
`

// TestPredict_LogsOfAServerAppearAsTheyCome: without events, as events to a terminal, and where stderr is a pipe.
func TestPredict_LogsOfAServerAppearAsTheyCome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		function, command string
		terminals         int
	}{{"run", "predict", 0}, {"run", "predict", 1}, {"stream", "predict", 2}, {"train", "train", 1}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			dir := harness.NewFolder(t, "run.py", gatedLogs, "cog.yaml", "predict: run.py:"+c.function+"\ntrain: run.py:train\n")
			open := harness.MakeFIFO(t, dir, "gate")
			s := harness.Ready(t, harness.Options{Dir: dir})
			logsAppear(t, harness.CLI{Dir: dir}, open, c.terminals, c.command, "--url", s.Address)
		})
	}
}

// logsAppear runs a command with a terminal as stderr, and as stdout.
func logsAppear(t *testing.T, c harness.CLI, open func(), terminals int, args ...string) {
	t.Helper()
	cmd, _, _ := c.Start(t, args...)
	term := harness.NewTerminal(t)
	if terminals > 0 {
		cmd.Stderr = term.Program
	}
	if terminals > 1 {
		cmd.Stdout = term.Program
	}
	seen := term.String
	if terminals == 0 {
		name := filepath.Join(t.TempDir(), "stderr")
		file := assert.Must(os.Create(name))(t)
		defer file.Close()
		cmd.Stderr, seen = file, func() string { return harness.ReadFile(t, name) }
	}
	harness.StartCommand(t, cmd)
	assert.Eventually(t, "the first line is there", func() bool { return strings.Contains(seen(), "first") })
	open()
	assert.NoError(t, cmd.Wait(), "after", seen(), "want success")
	for _, line := range []string{"first", "half a line"} {
		assert.Eventually(t, line+" is there", func() bool { return strings.Contains(seen(), line) })
		n := strings.Count(seen(), line)
		assert.True(t, n == 1, "got %q %d times in %q, want 1", line, n, seen())
	}
}

// TestPredict_OpenLineStandsWithinTheProgress, which goes on beside it.
func TestPredict_OpenLineStandsWithinTheProgress(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", gatedLogs, "cog.yaml", "predict: run.py:run\n")
	open := harness.MakeFIFO(t, dir, "gate")
	cmd, _, _ := harness.CLI{Dir: dir}.Start(t, "predict")
	term := harness.NewTerminal(t)
	cmd.Stderr = term.Program
	harness.StartCommand(t, cmd)
	drawn := regexp.MustCompile(`predicting ([0-9.]+) s: half a `)
	assert.Eventually(t, "two times stand before the line", func() bool {
		all := drawn.FindAllStringSubmatch(term.String(), -1)
		return len(all) > 0 && all[0][1] != all[len(all)-1][1]
	})
	open()
	assert.NoError(t, cmd.Wait(), "after", term, "want success")
	assert.Eventually(t, "the line has ended", func() bool { return strings.Contains(term.String(), "\x1b[Khalf a line\r\n") })
}

// TestPredict_RecordedProgressIsBar on the terminal, of this process and of a server.
func TestPredict_RecordedProgressIsBar(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", `
from cog import current_scope
def run() -> str:
    current_scope().record_metric("progress", 0.4)
    open("gate").read()
    return "done"
`)
	open := harness.MakeFIFO(t, dir, "gate")
	s := harness.Ready(t, harness.Options{Dir: dir})
	for _, args := range [][]string{{"predict"}, {"predict", "--url", s.Address}} {
		cmd, _, _ := harness.CLI{Dir: dir}.Start(t, args...)
		term := harness.NewTerminal(t)
		cmd.Stderr = term.Program
		harness.StartCommand(t, cmd)
		assert.Eventually(t, "the bar is there", func() bool {
			return regexp.MustCompile(`predicting [0-9.]+ s █{8}░{12} 40 %`).MatchString(term.String())
		})
		open()
		assert.NoError(t, cmd.Wait(), "after", term, "want success")
	}
}

const talkingStream = `
from cog import ConcatenateIterator
def run() -> ConcatenateIterator[str]:
    yield "one "
    open("gate").read()
    print("a log", flush=True)
    open("gate").read()
    yield "two"
`

// TestPredict_LogsStandApartFromTokens on a terminal that has both.
func TestPredict_LogsStandApartFromTokens(t *testing.T) {
	t.Parallel()
	c := harness.CLI{Dir: harness.NewFolder(t, "run.py", talkingStream)}
	open := harness.MakeFIFO(t, c.Dir, "gate")
	cmd, _, _ := c.Start(t, "predict")
	term := harness.NewTerminal(t)
	cmd.Stdout, cmd.Stderr = term.Program, term.Program
	harness.StartCommand(t, cmd)
	assert.Eventually(t, "the first token is there", func() bool { return strings.HasSuffix(term.String(), "one ") })
	open()
	assert.Eventually(t, "the log is there", func() bool { return strings.HasSuffix(term.String(), "one \r\na log\r\n") })
	open()
	assert.NoError(t, cmd.Wait(), "after", term, "want success")
	assert.Eventually(t, "all is there", func() bool { return strings.HasSuffix(term.String(), "a log\r\ntwo\r\n") })
}

func tokensAppear(t *testing.T, c harness.CLI, open func(), args ...string) {
	t.Helper()
	term := harness.NewTerminal(t)
	cmd, _, stderr := c.Start(t, args...)
	cmd.Stdout = term.Program
	harness.StartCommand(t, cmd)
	assert.Eventually(t, "the first token is there", func() bool { return strings.Contains(term.String(), "local-one ") })
	assert.False(t, strings.Contains(term.String(), "two"), `the second is too: %q, want no "two" in it`, term)
	open()
	assert.NoError(t, cmd.Wait(), stderr)
	assert.Eventually(t, "all is there",
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
			assert.Eventually(t, "the progress is there", func() bool { return strings.Contains(term.String(), "predicting") })
		}
		open()
		err := cmd.Wait()
		assert.True(t, err == nil && stdout.String() == "done\n", "%v, and it printed %q, want %q", err, stdout, "done\n")
		return term.String()
	}
	progress()
	assert.Equal(t, "with NO_COLOR there", progress("NO_COLOR=1"), "")
}

func TestCLI_InterruptsOfTerminalCancel(t *testing.T) {
	t.Parallel()
	term := harness.NewTerminal(t)
	c := asker(t)
	cmd, _, _ := c.Start(t, "predict", "-i", "how=wait")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.Program, term.Program, term.Program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	harness.StartCommand(t, cmd)
	assert.Eventually(t, "the model predicts", func() bool { return strings.Contains(term.String(), "predicting wait") })
	_, err := term.User.WriteString("\x03")
	assert.NoError(t, err)
	interrupted(t, cmd)
	assert.Eventually(t, "its last words are there",
		func() bool { return strings.Contains(term.String(), "Prediction canceled") })
	assert.Contains(t, "the terminal", term.String(), "cleaned up", "Prediction canceled")
}
