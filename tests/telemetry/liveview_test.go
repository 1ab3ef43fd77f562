package telemetry

import (
	"bufio"
	"net/http"
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
