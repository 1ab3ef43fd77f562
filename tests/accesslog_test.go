package tests

import (
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/harness"
)

// address waits until a server on a terminal says where it is.
func (term *terminal) address(t *testing.T) string {
	t.Helper()
	var found []string
	harness.Eventually(t, "the curl line is there", func() bool {
		found = regexp.MustCompile(`curl (http://\S+)/predictions`).FindStringSubmatch(term.shown())
		return found != nil
	})
	return found[1]
}

// end ends a server that was started on a terminal, and waits until all that it wrote is read.
func (term *terminal) end(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, term.shown())
	}
	const mark = "the server has ended\n"
	if _, err := term.program.WriteString(mark); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "all is read", func() bool { return strings.HasSuffix(term.shown(), mark) })
}

// TestATerminalShowsRequests by default, but not probes. --access-log shows all requests, or, with 0, none.
func TestATerminalShowsRequests(t *testing.T) {
	t.Parallel()
	dir := folder(t, "run.py", "def run() -> str: return 'x'\n")
	for _, c := range []struct {
		args                []string
		predictions, probes bool
	}{
		{nil, true, false},
		{[]string{"--access-log"}, true, true},
		{[]string{"--access-log=0"}, false, false},
		{[]string{"--log-format", "console", "--log-level", "warning"}, false, false},
	} {
		cmd, term := serveOnTerminal(t, dir, c.args...)
		s := harness.At(term.address(t))
		for _, path := range []string{"/health-check", "/livez"} {
			wantCode(t, path, s.Do(http.MethodGet, path, nil), http.StatusOK)
		}
		wantStatus(t, "a prediction", s.Create("{}"), "succeeded")
		s.CloseIdle()
		term.end(t, cmd)
		has := func(line string) bool { return regexp.MustCompile(`(?m) INF ` + line).MatchString(term.shown()) }
		if has(`POST /predictions 200 [0-9.]+(µs|ms|s) prediction_id=\w+$`) != c.predictions ||
			has("GET /livez 200 ") != c.probes {
			t.Errorf("%q: the terminal has\n%s", c.args, term.shown())
		}
	}
}

// TestAJSONLogHasNoRequestsByDefault.
func TestAJSONLogHasNoRequestsByDefault(t *testing.T) {
	t.Parallel()
	for wanted, args := range map[int][]string{0: nil, 1: {"--access-log"}} {
		s := harness.Ready(t, harness.Options{Model: "echo.py:text", Args: args})
		s.Succeed(input{"text": "x"})
		s.Stop()
		found := 0
		for _, l := range s.Log.Lines() {
			if l.Text == "request" && strings.Contains(l.Raw, `"path":"/predictions","status":200`) {
				found++
			}
		}
		same(t, fmt.Sprintf("lines of requests with %q", args), found, wanted)
	}
}
