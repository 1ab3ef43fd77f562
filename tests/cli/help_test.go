package cli

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/tests/harness"
)

func TestHelp_ServeShowsCommonFlags(t *testing.T) {
	t.Parallel()
	flag := regexp.MustCompile(`(?m)^ +(?:-\w, )?--[a-z]`)
	short := harness.CLI{}.Good(t, "serve", "--help")
	harness.Equal(t, "flags", len(flag.FindAllString(short, -1)), 15)
	harness.Equal(t, "examples", strings.Count(short, "\n  pinion serve"), 4) // the last is the usage
	harness.WantText(t, "the help", short, "Common flags:", "--port", "'pinion serve --help all' shows every flag")
	full := harness.CLI{}.Good(t, "serve", "--help", "all")
	if got := len(flag.FindAllString(full, -1)); got < 60 {
		t.Errorf("got %d flags, want all", got)
	}
	harness.WantText(t, "all flags", full, "The model:", "Workers:", "--busy-poll", "Job queue:", "--nats", "Log and end:")
	harness.Equal(t, "help serve all", harness.CLI{}.Good(t, "help", "serve", "all"), full)
	harness.WantText(t, "the commands", harness.CLI{}.Good(t, "help"), "Make and try a model:", "Serve:", "Images:",
		"Other:")
	harness.WantText(t, "of another command", harness.CLI{}.Bad(t, 2, "help", "check", "all"),
		`pinion check has no command "all"`)
}

// TestHelp_NamesManualPage that pinion man makes.
func TestHelp_NamesManualPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := harness.CLI{Dir: dir}
	c.Good(t, "man", dir)
	for _, command := range []string{"", "serve", "jobs list"} {
		_, page, _ := strings.Cut(c.Good(t, append(strings.Fields(command), "--help")...), "the tarball: man ")
		harness.WantText(t, "the help", page, "\nDocumentation: docs/")
		page, _, _ = strings.Cut(page, "\n")
		if text := harness.ReadFile(t, filepath.Join(dir, page+".1")); !strings.HasPrefix(text, ".TH PINION") {
			t.Errorf("pinion %s --help names %q, whose page begins with %.20q, want a manual page", command, page, text)
		}
	}
}

// TestHelp_IsWrappedToTheTerminal, and to nothing elsewhere.
func TestHelp_IsWrappedToTheTerminal(t *testing.T) {
	t.Parallel()
	term := harness.NewTerminal(t)
	const width = 80
	if err := unix.IoctlSetWinsize(int(term.User.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: 24}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(harness.Binary(t), "predict", "--help")
	cmd.Env, cmd.Stdout = harness.BareEnv(), term.Program
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	const last = "http://localhost:5000"
	harness.Eventually(t, "all is shown", func() bool { return strings.Contains(term.Shown(), last) })
	_, flags, _ := strings.Cut(term.Shown(), "Flags:")
	for line := range strings.Lines(flags) {
		if len(line) > width {
			t.Errorf("got a line of %d characters, want at most %d: %s", len(line), width, line)
		}
	}
}
