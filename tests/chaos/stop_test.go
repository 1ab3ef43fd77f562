package chaos

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// deadReceivers returns addresses where webhooks are never accepted, and one that accepts them by an answer without
// end.
func deadReceivers(t *testing.T) []string {
	answers := func(answer http.HandlerFunc) string {
		s := httptest.NewServer(answer)
		t.Cleanup(s.Close)
		return s.URL
	}
	return []string{
		"http://" + harness.FreeAddress(t), harness.SilentServer(t),
		answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }),
		answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		}),
		answers(func(w http.ResponseWriter, r *http.Request) { // interim answers without end
			for r.Context().Err() == nil && t.Context().Err() == nil {
				w.WriteHeader(http.StatusProcessing)
				time.Sleep(dripPause)
			}
		}),
		dripServer(t),
	}
}

// TestStop_UnderLoad: a server under load has webhooks for receivers that are all dead in another way, and is told to
// stop. It ends within a minute of its grace of three seconds, and names each webhook that it gave up.
func TestStop_UnderLoad(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	for name, stop := range map[string]func(*harness.Server){
		"SIGTERM": func(s *harness.Server) { s.Signal(syscall.SIGTERM) },
		"request": func(s *harness.Server) {
			harness.WantCode(t, "POST /shutdown", s.Do(http.MethodPost, "/shutdown", nil), http.StatusOK)
		},
	} {
		for kind, args := range map[string][]string{
			"alone": nil, "with a queue": {"--nats", "embed:" + t.TempDir(), "--model", "m"},
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				s := harness.Ready(t, harness.Options{
					Model: "chaos.py:Plain", CutsOff: true,
					Args: append([]string{"--grace=2s", "--cancel-grace=1s", "--queue=100"}, args...),
				})
				receivers := deadReceivers(t)
				for i, receiver := range receivers {
					body := map[string]any{"id": fmt.Sprint("told", i), "input": map[string]any{}, "webhook": receiver}
					harness.WantStatus(t, receiver, s.Create(body), "succeeded")
				}
				l := beginLoad(t, s)
				l.more(honest)
				l.quit()
				stop(s)
				if until(func() bool { return !harness.Alive(s.PID) }) != nil {
					t.Fatalf("the server runs %s after it was told to stop, want it ended", timeout)
				}
				s.Ended(0)
				for i, receiver := range receivers[:len(receivers)-1] {
					_, named := s.Log.First(func(line harness.Line) bool {
						return line.PredictionID == fmt.Sprint("told", i) && strings.Contains(line.Raw, `"event":"completed"`)
					})
					assert.True(t, named,
						"the log does not name the webhook to %s that was given up", receiver)
				}
			})
		}
	}
}
