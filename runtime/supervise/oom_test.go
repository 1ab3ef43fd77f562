package supervise

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestOOM_KernelTakesWorkerFirst where memory is short.
func TestOOM_KernelTakesWorkerFirst(t *testing.T) {
	score := func(of string) int {
		t.Helper()
		text := assert.Must(os.ReadFile("/proc/" + of + "/oom_score_adj"))(t)
		return assert.Must(strconv.Atoi(strings.TrimSpace(string(text))))(t)
	}
	s := serving(t, "echoes", nil)
	own, worker := score("self"), score(fmt.Sprint(s.Status().PID))
	if own >= oomScoreMost {
		t.Skip("this process is what the kernel takes first already")
	}
	assert.Equal(t, fmt.Sprintf("the worker's score is changed by , the front's by %d", own),
		worker, min(own+oomScoreAdjust, oomScoreMost))
	s.stop()
}
