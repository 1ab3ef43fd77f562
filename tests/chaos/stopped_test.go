package chaos

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestStopped_FrontWithFullSockets: the front is stopped under answers and requests of megabytes, until workers and
// clients wait for it with all sockets full, and for longer than a worker may be silent. When it goes on, everybody is
// answered what is theirs, and no worker was taken for dead.
func TestStopped_FrontWithFullSockets(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	for _, sc := range []scene{
		{name: "streams", model: "Stream", slots: 1, workers: 2, streams: true},
		{name: "task streams", model: "TaskStream", slots: 4, workers: 2, streams: true},
	} {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			testStoppedFront(t, sc)
		})
	}
}

// hangTimeout is how long a worker may be silent, and silence is longer.
const hangTimeout, silence = "1s", 2 * time.Second

func testStoppedFront(t *testing.T, sc scene) {
	args := []string{"--workers", "2", "--queue", "256", "--hang-timeout", hangTimeout}
	if sc.slots > 1 {
		args = append(args, "--concurrency", fmt.Sprint(sc.slots))
	}
	s := harness.Ready(t, harness.Options{Model: "chaos.py:" + sc.model, Args: args})
	assert.Eventually(t, "both workers are ready", func() bool {
		h := s.Health()
		return h.Workers[0].State == "ready" && h.Workers[1].State == "ready"
	})
	before := s.Health()
	for round := range harness.Soak(20, 1) {
		stopFront(t, s, fmt.Sprint("s", round))
	}
	after := s.Health()
	for i, w := range after.Workers {
		assert.Equal(t, "PID", w.PID, before.Workers[i].PID)
		assert.Equal(t, "Restarts", w.Restarts, 0)
	}
}

// stopFront stops the front under load, until nothing moves.
func stopFront(t *testing.T, s *harness.Server, round string) {
	t.Helper()
	const clients, each, size = 10, 4, 1 << 20
	var asked sync.WaitGroup
	complaints := make(chan string, clients*each)
	for client := range clients {
		asked.Go(func() {
			for n := range each {
				token := fmt.Sprintf("%s-%d-%d", round, client, n)
				in := map[string]any{"token": token, "pad": size, "items": 50, "do": ""}
				q := map[string]any{"input": in, "context": map[string]string{"ballast": strings.Repeat("y", size/8)}}
				header := []string{"Accept", "application/json"}
				if n%2 == 1 {
					header[1] = "text/event-stream"
				}
				a := s.Do(http.MethodPost, "/predictions", q, header...)
				if a.Err == nil && n%2 == 1 {
					a.Prediction, a.Err = completed(a.Body)
				}
				if a.Err != nil || a.Code != http.StatusOK || a.Status != "succeeded" || len(a.Output) < size ||
					!strings.HasPrefix(string(a.Output), `["`+token+` `) {
					complaints <- fmt.Sprintf("%s: %d %s %.200s (%d bytes): %v", token, a.Code, a.Status, a.Output, len(a.Output),
						a.Err)
				}
			}
		})
	}
	ledger := func() int64 {
		info, err := os.Stat(s.Dir + "/ledger.txt")
		if err != nil {
			return 0
		}
		return info.Size()
	}
	begin := ledger()
	assert.Eventually(t, "the model runs", func() bool { return ledger() > begin })
	s.Signal(syscall.SIGSTOP)
	still, since := ledger(), time.Now()
	assert.Eventually(t, "nothing moves any more, for longer than a worker may be silent", func() bool {
		if n := ledger(); n != still {
			still, since = n, time.Now()
		}
		return time.Since(since) > silence
	})
	s.Signal(syscall.SIGCONT)
	asked.Wait()
	close(complaints)
	for text := range complaints {
		t.Error(text)
	}
}
