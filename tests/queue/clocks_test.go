package queue

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestClocks_ServerWhoseClockIsWrong keeps the deadlines that another set, and sets those that another keeps.
func TestClocks_ServerWhoseClockIsWrong(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(fmt.Sprint(by), func(t *testing.T) {
			t.Parallel()
			nats, right := startMember(t)
			wrong := harness.StartMember(t, nats.URL, harness.Options{})
			members := map[string]*harness.Server{"right": right, "wrong": wrong}
			open := map[string]func(){}
			for name, s := range members { // each has a job, so that what comes next waits
				open[name] = harness.MakeFIFO(t, s.Dir, "gate")
			}
			for _, id := range []string{"one", "two"} {
				harness.Enqueue(t, right, id, harness.Input{"gate": "gate"})
				harness.WaitStatus(t, right, id, "processing")
			}
			err := wrong.Jump(by, nil)
			if errors.Is(err, harness.ErrNoClock) {
				t.Skip(err)
			}
			assert.NoError(t, err)
			for by, s := range members {
				harness.Enqueue(t, s, "waits-"+by, harness.Input{"token": "waits-" + by}, "Pinion-Deadline", "600")
				harness.Enqueue(t, s, "late-"+by, harness.Input{"token": "late-" + by}, "Pinion-Deadline", "1")
			}
			for by := range members {
				for asked, s := range members {
					at := fmt.Sprintf("accepted by %s, asked at %s", by, asked)
					harness.WantStatus(t, at, harness.StateOf(s, "waits-"+by), "starting")
					assert.Contains(t, at, harness.WaitStatus(t, s, "late-"+by, "failed").Error, "the deadline passed")
				}
			}
			open["wrong"]() // and it runs what waits
			for by, s := range members {
				harness.WaitStatus(t, s, "waits-"+by, "succeeded")
				assert.Equal(t, "runs of what the "+by+" one accepted", harness.TimesRun(t, wrong, "waits-"+by), 1)
				assert.Equal(t, "runs of what was late", harness.TimesRun(t, wrong, "late-"+by), 0)
			}
			if waited := harness.Scrape(t, wrong).Sum("pinion_job_wait_seconds"); waited > 1800 {
				t.Errorf("the jobs waited %f s by the metrics of the server whose clock is wrong, want some seconds", waited)
			}
			open["right"]()
		})
	}
}
