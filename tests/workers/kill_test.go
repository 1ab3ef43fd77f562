package workers

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestKill_KilledWorkerFailsOnlyWhatItRan: sixteen clients ask all the time, and the worker is killed again and again.
// Each kill costs one prediction at most, the one that ran; answers that were ready, also those that waited to be
// sent together, arrive; what was not begun is answered by the next worker. The model's ledger has each
// prediction where it was begun and where it was done.
func TestKill_KilledWorkerFailsOnlyWhatItRan(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "ledger.py", Args: []string{"--queue", "32"}})
		clients := startClients(s, 16,
			func(client, n int) any { return harness.Input{"token": fmt.Sprintf("%d-%d", client, n)} })
		rounds := harness.Soak(300, 12)
		for range rounds {
			clients.more(t, 300)
			worker := s.Worker0()
			if worker == 0 || syscall.Kill(worker, syscall.SIGKILL) != nil {
				continue
			}
			assert.Eventually(t, "another worker is there",
				func() bool { pid := s.Worker0(); return pid != 0 && pid != worker })
		}
		clients.more(t, 300)
		failed := clients.stopAll()
		assert.True(t, len(failed) <= rounds, "%d kills cost %d predictions, want at most %d", rounds, len(failed), rounds)
		begun, done := ledger(t, s)
		for _, a := range failed {
			harness.WantFailed(t, "the answer", a, "worker killed (SIGKILL) while running this prediction")
		}
		for token, n := range begun {
			assert.True(t, n <= 1, "%s was begun %d times, want at most 1", token, n)
		}
		if unfinished := len(begun) - len(done); unfinished > len(failed) {
			t.Errorf("%d were begun and not done, and %d failed, want at most %d", unfinished, len(failed), len(failed))
		}
		// A worker may be killed when it has taken a prediction, and before the model's first line.
		if answered := clients.answered(); len(begun) < answered || len(begun) > answered+len(failed) {
			t.Errorf("%d were begun, %d succeeded, %d failed, want %d to %d", len(begun), answered, len(failed), answered,
				answered+len(failed))
		}
	})
}

// ledger is how often each token was begun and done.
func ledger(t testing.TB, s *harness.Server) (begun, done map[string]int) {
	t.Helper()
	text := harness.ReadFile(t, filepath.Join(s.Dir, "ledger.txt"))
	begun, done = map[string]int{}, map[string]int{}
	for line := range strings.Lines(text) {
		what, token, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch what {
		case "begun":
			begun[token]++
		case "done":
			done[token]++
		}
	}
	return begun, done
}
