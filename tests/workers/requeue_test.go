package workers

import (
	"fmt"
	"strconv"
	"syscall"
	"testing"

	"pinion/tests/harness"
)

// TestRequeue_AnswersThatWaitToBeSentOutliveTheirWorker: those of predictions that take next to no time share a write.
// Here the one behind them kills the worker before it.
func TestRequeue_AnswersThatWaitToBeSentOutliveTheirWorker(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := fleet(t, harness.Options{Python: python.Path, Args: []string{"--queue", "32"}})
		for round := range 5 {
			clients := startClients(s, 8, plain) // so that the worker knows how fast it is
			clients.more(t, 500)
			for _, a := range clients.stopAll() {
				t.Errorf("round %d: got %s, want every prediction answered", round, a)
			}
			worker := s.Worker()
			harness.SendSignal(t, worker, syscall.SIGSTOP)
			var before, after []*harness.Request
			for _, name := range harness.Numbered(fmt.Sprintf("before-%d-", round), 5) {
				before = append(before, s.Request(name, harness.Input{}))
			}
			deadly := s.Request(fmt.Sprint("deadly-", round), harness.Input{"do": "kill"})
			for _, name := range harness.Numbered(fmt.Sprintf("after-%d-", round), 5) {
				after = append(after, s.Request(name, harness.Input{}))
			}
			harness.SendSignal(t, worker, syscall.SIGCONT)
			harness.WantFailed(t, fmt.Sprintf("round %d: the deadly one", round), harness.Receive(t, deadly.Answer),
				"worker killed (SIGKILL) while running this prediction")
			for i, v := range append(before, after...) {
				a := harness.Receive(t, v.Answer)
				if a.Status != "succeeded" {
					t.Errorf("round %d: number %d: %s, want Status succeeded", round, i, a)
				} else if old := workerOf(t, a).pid == strconv.Itoa(worker); old != (i < len(before)) {
					t.Errorf("round %d: number %d was answered by the wrong worker: got %t, want %t", round, i, old, i < len(before))
				}
			}
		}
	})
}
