package tests

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/harness"
)

// terminal is a terminal and what was written to it.
type terminal struct {
	user, program *os.File
	mu            sync.Mutex
	text          strings.Builder
}

func newTerminal(t testing.TB) *terminal {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(func() { user.Close() })
	number, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	term := &terminal{user: user, program: program}
	go term.read()
	return term
}

func (term *terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := term.user.Read(buf)
		term.mu.Lock()
		term.text.Write(buf[:n])
		term.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (term *terminal) String() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.text.String()
}

// gatedStream yields a token, waits at a FIFO, and yields the next.
const gatedStream = `
from cog import ConcatenateIterator, streaming
@streaming
def run(word: str = "token") -> ConcatenateIterator[str]:
    yield word + "-one "
    open("gate").read()
    yield word + "-two"
`

func TestCLITokensAppearAsTheyComeOnATerminal(t *testing.T) {
	t.Parallel()
	c := cli{dir: folder(t, "run.py", gatedStream)}
	open := makeFIFO(t, c.dir, "gate")
	tokensAppear(t, c, open, "predict", "-i", "word=local")
	s := harness.Ready(t, harness.Options{Dir: c.dir})
	tokensAppear(t, c, open, "predict", "-i", "word=local", "--url", s.Address)
}

func tokensAppear(t *testing.T, c cli, open func(), args ...string) {
	t.Helper()
	term := newTerminal(t)
	cmd, _, stderr := c.start(t, args...)
	cmd.Stdout = term.program
	launch(t, cmd)
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

func TestCLIProgressStandsOnATerminalOnly(t *testing.T) {
	t.Parallel()
	progress := func(env ...string) string {
		t.Helper()
		term := newTerminal(t)
		c := cli{dir: folder(t, "run.py",
			"def setup(): ...\ndef run() -> str:\n    open('gate').read()\n    return 'done'\n"), env: env}
		open := makeFIFO(t, c.dir, "gate")
		cmd, stdout, _ := c.start(t, "predict")
		cmd.Stderr = term.program
		launch(t, cmd)
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
	same(t, "with NO_COLOR there", progress("NO_COLOR=1"), "")
}

func TestCLIInterruptsOfATerminalCancel(t *testing.T) {
	t.Parallel()
	term := newTerminal(t)
	c := asker(t)
	cmd, _, _ := c.start(t, "predict", "-i", "how=wait")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.program, term.program, term.program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	launch(t, cmd)
	harness.Eventually(t, "the model predicts", func() bool { return strings.Contains(term.String(), "predicting wait") })
	if _, err := term.user.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	interrupted(t, cmd)
	harness.Eventually(t, "its last words are there",
		func() bool { return strings.Contains(term.String(), "Prediction canceled") })
	wantText(t, "the terminal", term.String(), "cleaned up", "Prediction canceled")
}
