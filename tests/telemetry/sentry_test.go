package telemetry

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// sentryServer takes in reports, and returns its DSN and what came.
func sentryServer(t *testing.T) (dsn string, reports func() string) {
	t.Helper()
	var mu sync.Mutex
	var received strings.Builder
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		received.WriteString(r.URL.Path + " ")
		received.Write(body)
	}))
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "//", "//abc@", 1) + "/7", func() string {
		mu.Lock()
		defer mu.Unlock()
		return received.String()
	}
}

func TestSentry_GetsDeathsOfWorkers(t *testing.T) {
	t.Parallel()
	dsn, reports := sentryServer(t)
	s := harness.Ready(t, harness.Options{
		Model: "dying.py", Env: []string{"SENTRY_DSN=" + dsn, "SENTRY_ENVIRONMENT=staging"},
	})
	s.Fail(harness.Input{"how": "segfault", "token": "an-input-of-a-client"})
	assert.Eventually(t, "the death is reported", func() bool { return strings.Contains(reports(), "SIGSEGV") })
	s.Stop()
	assert.Contains(t, "the report", reports(), "/api/7/envelope/", `"environment":"staging"`, `"type":"worker ended"`)
	assert.False(t, strings.Contains(reports(), "an-input-of-a-client"),
		`got an input in %s, want no "an-input-of-a-client" in it`, reports())
}

func TestSentry_GetsFailuresOfSetup(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--fail-fast", "--fail-fast=false"} {
		dsn, reports := sentryServer(t)
		dir := harness.NewFolder(t, "run.py",
			"from cog import BaseRunner\n\n\nclass Runner(BaseRunner):\n    def setup(self):\n"+
				"        raise ValueError('no weights')\n\n    def run(self) -> str:\n        return ''\n")
		s := harness.Launch(t, harness.Options{Dir: dir, Args: []string{flag}, Env: []string{"SENTRY_DSN=" + dsn}})
		assert.Eventually(t, "the setup is reported", func() bool { return strings.Contains(reports(), "no weights") })
		if flag == "--fail-fast" {
			s.Ended(1)
		} else {
			s.Stop()
		}
	}
}

func TestSentry_WrongDSNIsIgnored(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py", Env: []string{"SENTRY_DSN=https://sentry.example.com"}})
	s.WaitLog("SENTRY_DSN is ignored: must have the form https://KEY@HOST/PROJECT")
	s.Succeed(harness.Input{})
}
