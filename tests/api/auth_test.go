package api

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestAuth_TokensFromFile: they are wanted, changed by SIGHUP without a restart, kept where the new file is broken, and
// never in the log.
func TestAuth_TokensFromFile(t *testing.T) {
	t.Parallel()
	const first, second, third = "first-token-0123456789", "second-token-0123456789", "third-token-0123456789"
	file := harness.TokenFile(t, "# clients", first, "", second)
	s := harness.Ready(t, harness.Options{
		Model: "api/do.py:Runner", Args: []string{"--auth-token-file", file, "--access-log=1000"},
	})
	ask := func(token string) int {
		return s.Do(http.MethodPost, "/predictions", harness.Input{"do": []string{"return 1"}}, "Authorization",
			"Bearer "+token).Code
	}
	harness.WantCode(t, "no token", s.Do(http.MethodPost, "/predictions", harness.Input{}), http.StatusUnauthorized)
	for token, want := range map[string]int{first: 200, second: 200, third: 401, first[1:]: 401} {
		assert.Equal(t, token, ask(token), want)
	}
	reload := func(says string) {
		t.Helper()
		seen := len(s.Log.Lines())
		s.Signal(syscall.SIGHUP)
		assert.Eventually(t, "the log says "+says, func() bool {
			for _, line := range s.Log.Lines()[seen:] {
				if line.Text == says {
					return true
				}
			}
			return false
		})
	}
	client := harness.CLI{Dir: s.Dir, Env: []string{"PINION_AUTH_TOKEN=" + first}}
	assert.Contains(t, "a client's answer",
		client.Good(t, "predict", "--url", s.Address, "--json", `{"do":["return 1"]}`), "1")
	harness.WriteTokens(t, file, second, third)
	reload("tokens read")
	for token, want := range map[string]int{first: 401, second: 200, third: 200} {
		assert.Equal(t, "after a change, "+token, ask(token), want)
	}
	for _, broken := range [][]string{{"# none"}, {"two words"}} {
		harness.WriteTokens(t, file, broken...)
		reload("the tokens are not reloaded: those read before stay valid")
		assert.Equal(t, "with a broken file", ask(third), 200)
	}
	for _, token := range []string{first, second, third} {
		assert.False(t, strings.Contains(s.Log.String(), token),
			"the log has a token, want Log without %q:\n%s", token, s.Log)
	}
	_, ok := s.Log.Find("the token file is open to other users: set its mode to 0600")
	assert.False(t, ok, "it complains of a file with mode 0600")
}

// TestAuth_TokenFilesThatAreRefused: a server without usable tokens does not start; one whose file others can read says
// so.
func TestAuth_TokenFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, file := range []string{harness.TokenFile(t, "# none"), harness.TokenFile(t, "a b"), "/nowhere/tokens"} {
		harness.WantRefused(t, harness.Options{Model: "api/do.py:Runner", Args: []string{"--auth-token-file", file}},
			2, "--auth-token-file "+file)
	}
	open := harness.TokenFile(t, "short")
	assert.NoError(t, os.Chmod(open, 0o644))
	s := harness.Ready(t, harness.Options{Model: "api/do.py:Runner", Env: []string{"PINION_AUTH_TOKEN_FILE=" + open}})
	for _, says := range []string{
		"the token file is open to other users: set its mode to 0600",
		"a token is short enough to be guessed",
	} {
		assert.True(t, s.Log.Count(says) > 0, "the log does not say %s: got none, want one", says)
	}
}

// TestAuth_PortForMetrics: metrics move there, probes are on both, and no token is wanted.
func TestAuth_PortForMetrics(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Model: "api/do.py:Runner",
		Args:  []string{"--metrics-port", "0", "--auth-token-file", harness.TokenFile(t, "a-token-0123456789")},
	})
	port := harness.At(s.WaitLog("serving metrics and probes").MetricsAddress)
	for path, want := range map[string]int{
		"/metrics": 200, "/livez": 200, "/readyz": 200, "/health-check": 200, "/": 404,
		"/predictions/a": 404,
	} {
		harness.WantCode(t, "there "+path, port.Do(http.MethodGet, path, nil), want)
	}
	harness.WantCode(t, "metrics here",
		s.Do(http.MethodGet, "/metrics", nil, "Authorization", "Bearer a-token-0123456789"), http.StatusNotFound)
	harness.WantCode(t, "a probe here", s.Do(http.MethodGet, "/readyz", nil), http.StatusOK)
	harness.WantRefused(t, harness.Options{Model: "api/do.py:Runner", Args: []string{"--metrics-host", "127.0.0.1"}}, 2,
		"--metrics-port")
}
