package telemetry

import (
	"bufio"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/harness"
)

func TestLiveView(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "api/do.py:Runner"})
	harness.WantAnswer(t, "the page", s.Do(http.MethodGet, "/dashboard", nil), http.StatusOK, "<!doctype html>")
	for _, headers := range [][]string{{"Origin", "http://elsewhere.example"}, {"Sec-Fetch-Site", "cross-site"}} {
		harness.WantCode(t, headers[0]+" "+headers[1], s.Do(http.MethodGet, "/dashboard/events", nil, headers...),
			http.StatusForbidden)
	}
	events := openEvents(t, s)
	for events.Scan() {
		if strings.HasPrefix(events.Text(), "data: ") && strings.Contains(events.Text(), `"status":"READY"`) {
			break
		}
	}
	s.Stop() // fails if the open view holds it up
	if events.Scan() && events.Err() != nil {
		t.Errorf("the view's stream ended with %v", events.Err())
	}
}

// openEvents opens the stream of the live view until the test's end.
func openEvents(t *testing.T, s *harness.Server) *bufio.Scanner {
	t.Helper()
	response := s.Open(t, http.MethodGet, "/dashboard/events", nil)
	if kind := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK ||
		!strings.HasPrefix(kind, "text/event-stream") {
		t.Fatalf("the stream is %d, %s", response.StatusCode, kind)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return lines
}

func TestLiveView_IsForOperators(t *testing.T) {
	t.Parallel()
	tokens := harness.Ready(t, harness.Options{
		Model: "api/do.py:Runner",
		Args:  []string{"--metrics-port", "0", "--auth-token-file", harness.TokenFile(t, "a-token-0123456789")},
	})
	port := harness.At(tokens.WaitLog("serving metrics and probes").MetricsAddress)
	harness.WantCode(t, "data at the port without tokens", port.Do(http.MethodGet, "/dashboard/events", nil),
		http.StatusNotFound)
	harness.WantCode(t, "data without a token", tokens.Do(http.MethodGet, "/dashboard/events", nil),
		http.StatusUnauthorized)
	off := harness.Ready(t, harness.Options{Model: "api/do.py:Runner", Args: []string{"--no-dashboard"}})
	harness.WantCode(t, "a view that is off", off.Do(http.MethodGet, "/dashboard", nil), http.StatusNotFound)
}

// TestLiveView_SaysWhatAllModelsDo: each model's view has the states of all, and the logs of its own setup. A server of
// one model has no list.
func TestLiveView_SaysWhatAllModelsDo(t *testing.T) {
	t.Parallel()
	dir, models := harness.ModelFolders(t,
		map[string]harness.Python{"a": harness.OldestPython(t), "broken": harness.OldestPython(t)})
	harness.WriteFile(t, filepath.Join(dir, "broken", "run.py"), `class Runner:
    def setup(self):
        print("looks for weights")
        raise RuntimeError("no weights")

    def run(self) -> str:
        return ""
`)
	s := harness.Start(t, harness.Options{Dir: dir, Models: models})
	for path, want := range map[string][]string{
		"/models/a/dashboard/events": {
			`{"name":"a","state":"ready","running":0,"queued":0,"slots":1}`, `{"name":"broken","state":"failed"`,
			`"setup":{"status":"succeeded"`,
		},
		"/models/broken/dashboard/events": {`{"name":"a","state":"ready"`, "looks for weights"},
	} {
		harness.Eventually(t, path+" has "+strings.Join(want, ", "), func() bool {
			// An HTTP/1.0 client gets the first events alone.
			text := string(s.Raw("GET "+path+" HTTP/1.0\r\nHost: localhost\r\n\r\n", 1)[0].Body)
			return !slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(text, part) })
		})
	}
	one := harness.Ready(t, harness.Options{Model: "api/do.py:Runner"})
	text := string(one.Raw("GET /dashboard/events HTTP/1.0\r\nHost: localhost\r\n\r\n", 1)[0].Body)
	if !strings.Contains(text, `"status":"READY"`) || strings.Contains(text, `"models":[`) {
		t.Errorf("a server of one model: got %s", text)
	}
}
