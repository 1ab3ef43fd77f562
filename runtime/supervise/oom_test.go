package supervise

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestOOM_KernelTakesWorkerFirst where memory is short.
func TestOOM_KernelTakesWorkerFirst(t *testing.T) {
	score := func(of string) int {
		t.Helper()
		text, err := os.ReadFile("/proc/" + of + "/oom_score_adj")
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	s := act(t, "echoes", nil)
	s.until("ready", ready)
	own, worker := score("self"), score(fmt.Sprint(s.Status().PID))
	if own >= oomScoreMost {
		t.Skip("this process is what the kernel takes first already")
	}
	if want := min(own+oomScoreAdjust, oomScoreMost); worker != want {
		t.Errorf("the worker's score is changed by %d, the front's by %d; want %d", worker, own, want)
	}
	s.Stop()
	s.end()
}
