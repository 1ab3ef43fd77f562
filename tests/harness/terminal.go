package harness

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
)

// Address waits until a server on a terminal prints its address.
func (term *Terminal) Address(t *testing.T) string {
	t.Helper()
	var found []string
	assert.Eventually(t, "the curl line is there", func() bool {
		found = regexp.MustCompile(`curl (http://\S+)/predictions`).FindStringSubmatch(term.Shown())
		return found != nil
	})
	return found[1]
}

// End ends a server that was started on a terminal, and waits until all that it wrote is read.
func (term *Terminal) End(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v, want no error\n%s", err, term.Shown())
	}
	const mark = "the server has ended\n"
	_, err := term.Program.WriteString(mark)
	assert.NoError(t, err)
	assert.Eventually(t, "all is read", func() bool { return strings.HasSuffix(term.Shown(), mark) })
}

// Terminal is a terminal and what was written to it.
type Terminal struct {
	User, Program *os.File
	mu            sync.Mutex
	text          strings.Builder
}

// NewTerminal opens a terminal, until the end of the test.
func NewTerminal(t testing.TB) *Terminal {
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
	assert.NoError(t, err)
	program := assert.Must(os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	t.Cleanup(func() { program.Close() })
	term := &Terminal{User: user, Program: program}
	go term.read()
	return term
}

func (term *Terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := term.User.Read(buf)
		term.mu.Lock()
		term.text.Write(buf[:n])
		term.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// String returns all that was written to it.
func (term *Terminal) String() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.text.String()
}

// Shown returns what a terminal shows, with plain line ends and without colours.
func (term *Terminal) Shown() string {
	text := strings.ReplaceAll(term.String(), "\r\n", "\n")
	for _, colour := range []string{"\x1b[0m", "\x1b[2m", "\x1b[92m", "\x1b[93m", "\x1b[91m"} {
		text = strings.ReplaceAll(text, colour, "")
	}
	return text
}
