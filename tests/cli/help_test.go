package cli

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestHelp_ServeShowsCommonFlags(t *testing.T) {
	t.Parallel()
	flag := regexp.MustCompile(`(?m)^ +(?:-\w, )?--[a-z]`)
	short := harness.CLI{}.Good(t, "serve", "--help")
	assert.Equal(t, "flags", len(flag.FindAllString(short, -1)), 15)
	assert.Equal(t, "examples", strings.Count(short, "\n  pinion serve"), 4) // the last is the usage
	assert.Contains(t, "the help", short, "Common flags:", "--port", "'pinion serve --help all' shows every flag")
	full := harness.CLI{}.Good(t, "serve", "--help", "all")
	got := len(flag.FindAllString(full, -1))
	assert.True(t, got >= 60, "got %d flags, want all", got)
	assert.Contains(t, "all flags", full, "The model:", "Workers:", "--busy-poll", "Job queue:", "--nats", "Log and end:")
	assert.Equal(t, "help serve all", harness.CLI{}.Good(t, "help", "serve", "all"), full)
	assert.Contains(t, "the examples of another", harness.CLI{}.Good(t, "predict", "--help"),
		"\n  pinion predict -i image=@photo.jpg", "\n  pinion predict --url http://localhost:5000")
	assert.Contains(t, "the commands", harness.CLI{}.Good(t, "help"), "Make and try a model:", "Serve:", "Images:",
		"Other:")
	assert.Contains(t, "of another command", harness.CLI{}.Bad(t, 2, "help", "check", "all"),
		`pinion check has no command "all"`)
}

// TestHelp_NamesManualPage that pinion man makes.
func TestHelp_NamesManualPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := harness.CLI{Dir: dir}
	c.Good(t, "man", dir)
	for _, command := range []string{"", "serve", "jobs list"} {
		_, page, _ := strings.Cut(c.Good(t, append(strings.Fields(command), "--help")...), "\nManual page: man ")
		assert.Contains(t, "the help", page, "\nDocumentation: docs/")
		page, _, _ = strings.Cut(page, " ")
		if text := harness.ReadFile(t, filepath.Join(dir, page+".1")); !strings.HasPrefix(text, ".TH PINION") {
			t.Errorf("pinion %s --help names %q, whose page begins with %.20q, want a manual page", command, page, text)
		}
	}
}

// TestHelp_IsWrappedToTheTerminal but for examples and usage, which are to be copied, and to nothing elsewhere.
func TestHelp_IsWrappedToTheTerminal(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"help", "serve", "serve --help all", "predict", "check", "schema", "jobs list", "gateway", "batching", "build",
		"completion zsh",
	} {
		for _, width := range []int{60, 80, 120} {
			t.Run(fmt.Sprint(command, width), func(t *testing.T) {
				t.Parallel()
				args := strings.Fields(command)
				if !strings.Contains(command, "help") {
					args = append(args, "--help")
				}
				for line := range strings.Lines(helpOnTerminal(t, width, args...)) {
					isCopied := strings.HasPrefix(line, "  pinion ") || strings.HasPrefix(line, "  echo ")
					n := len(strings.TrimRight(line, "\r\n"))
					assert.True(t, n <= width || isCopied, "got a line of %d characters, want at most %d: %s", n, width, line)
				}
			})
		}
	}
	for line := range strings.Lines(harness.CLI{}.Good(t, "serve", "--help")) {
		if strings.Contains(line, "--concurrency") {
			assert.Contains(t, "the line of a flag in a pipe", line, "COG_MAX_CONCURRENCY; default: the model's)\n")
		}
	}
}

// helpOnTerminal is what a command prints on a terminal of that width.
func helpOnTerminal(t *testing.T, width int, args ...string) string {
	t.Helper()
	term := harness.NewTerminal(t)
	size := &unix.Winsize{Col: uint16(width), Row: 24}
	assert.NoError(t, unix.IoctlSetWinsize(int(term.User.Fd()), unix.TIOCSWINSZ, size))
	cmd := exec.Command(harness.Binary(t), args...)
	cmd.Env, cmd.Stdout = harness.BareEnv(), term.Program
	assert.NoError(t, cmd.Run())
	assert.Eventually(t, "all is shown", func() bool { return strings.Contains(term.Shown(), "\nDocumentation: docs/") })
	return term.Shown()
}
