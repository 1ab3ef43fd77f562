package cli

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestAccessLog_TerminalShowsRequests by default, but not probes. --access-log shows all requests, or, with 0, none.
func TestAccessLog_TerminalShowsRequests(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", "def run() -> str: return 'x'\n")
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
		s := harness.At(term.Address(t))
		for _, path := range []string{"/health-check", "/livez"} {
			harness.WantCode(t, path, s.Do(http.MethodGet, path, nil), http.StatusOK)
		}
		harness.WantStatus(t, "a prediction", s.Create("{}"), "succeeded")
		s.CloseIdle()
		term.End(t, cmd)
		has := func(line string) bool { return regexp.MustCompile(`(?m) INF ` + line).MatchString(term.Shown()) }
		assert.True(t, has(`POST /predictions 200 [0-9.]+(µs|ms|s) prediction_id=\w+$`) == c.predictions &&
			has("GET /livez 200 ") == c.probes, "%q: want lines of predictions %t, of probes %t; the terminal has\n%s", c.args,
			c.predictions, c.probes, term.Shown())
	}
}

func TestAccessLog_JSONLogHasNoRequestsByDefault(t *testing.T) {
	t.Parallel()
	for wanted, args := range map[int][]string{0: nil, 1: {"--access-log"}} {
		s := harness.Ready(t, harness.Options{Model: "echo.py:text", Args: args})
		s.Succeed(harness.Input{"text": "x"})
		s.Stop()
		found := 0
		for _, l := range s.Log.Lines() {
			if l.Text == "request" && strings.Contains(l.Raw, `"path":"/predictions","status":200`) {
				found++
			}
		}
		assert.Equal(t, fmt.Sprintf("lines of requests with %q", args), found, wanted)
	}
}
