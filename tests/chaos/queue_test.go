package chaos

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// waitingJobs is more jobs than the servers of a scene run at once.
const waitingJobs = 40

// queueMember starts a server of a queue. Its model takes n up to most.
func queueMember(t *testing.T, nats, most string) *harness.Server {
	t.Helper()
	source := harness.ReadFile(t, filepath.Join("models", "queue.py"))
	dir := harness.NewFolder(t, "queue.py", strings.Replace(source, "le=10", "le="+most, 1))
	return harness.StartMember(t, nats, harness.Options{
		Model: "queue.py:Runner", Dir: dir, Args: []string{"--concurrency", "4"},
	})
}

// TestQueue_Scenes: while clients have jobs with odd ids run, of which some attach by a stream, something happens to
// the queue or its servers.
func TestQueue_Scenes(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	for name, scene := range map[string]func(*testing.T){
		"clock jumps": jumpingClocks, "two schemas": twoSchemas, "stream deleted": deletedStream, "slow link": slowLink,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene(t)
		})
	}
}

// jumpingClocks sets the clocks of two servers: no job is lost, or runs twice.
func jumpingClocks(t *testing.T) {
	nats := harness.StartNATS(t)
	a, b := queueMember(t, nats.URL, "10"), queueMember(t, nats.URL, "10")
	c := beginCrowd(t, "", a, b)
	for _, by := range []time.Duration{time.Minute, -time.Minute, day, -day, 366 * day, 0} {
		for _, s := range []*harness.Server{a, b} { // no two need agree
			err := s.Jump(by, nil)
			if errors.Is(err, harness.ErrNoClock) {
				c.end()
				t.Skip(err)
			}
			assert.NoError(t, err)
			c.enter("after a jump by "+by.String(), false)
			c.more(5 * honest)
		}
	}
	c.end()
}

// twoSchemas serves a model with two schemas: each job ends by one of them, or is refused with the reason.
func twoSchemas(t *testing.T) {
	nats := harness.StartNATS(t)
	wide, narrow := queueMember(t, nats.URL, "10"), queueMember(t, nats.URL, "5")
	c := beginCrowd(t, "is greater than the maximum of 5", wide, narrow, harness.StartGateway(t, nats.URL).Server)
	c.enter("with two schemas", false)
	c.more(25 * honest)
	c.end()
}

// deletedStream deletes the stream of the jobs: those in it end as lost, and later ones run.
func deletedStream(t *testing.T) {
	nats := harness.StartNATS(t)
	a, b := queueMember(t, nats.URL, "10"), queueMember(t, nats.URL, "10")
	c := beginCrowd(t, "", a, b)
	c.more(5 * honest)
	for i := range waitingJobs {
		harness.Enqueue(t, a, fmt.Sprint("waits", i), map[string]any{"token": fmt.Sprint("waits", i), "seconds": 0.5})
	}
	c.enter("without the stream", true)
	restore := harness.DeleteStream(t, nats, "PINION_JOBS_m")
	assert.Eventually(t, "jobs are refused", func() bool {
		got := a.Create(map[string]any{"input": map[string]any{"token": "refused"}}, "Prefer", "respond-async")
		return strings.Contains(string(got.Body), "NATS has no stream for them")
	})
	direct := a.Input(map[string]any{"token": "direct"})
	harness.WantStatus(t, "a synchronous prediction, which needs no stream", direct, "succeeded")
	restore()
	c.more(20 * honest)
	c.enter("with a new stream", false)
	c.more(5 * honest)
	lost := 0
	for i := range waitingJobs {
		id := fmt.Sprint("waits", i)
		got := c.await(b, "/predictions/"+id)
		switch {
		case got.Status == "failed" && strings.Contains(got.Error, "lost by the queue"):
			lost++
		case got.Status != "succeeded" || harness.TimesRun(t, a, id)+harness.TimesRun(t, b, id) != 1:
			t.Errorf("%s ended with %s, want a success after one run, or an error that says that it was lost", id, got)
		}
	}
	t.Logf("%d of %d that waited were lost", lost, waitingJobs)
	if lost == 0 {
		t.Error("got no lost job, want those that waited in the stream")
	}
	c.end()
}

// slowLink runs jobs over a link to NATS with a round trip of 50 ms and 1 Mbit/s.
func slowLink(t *testing.T) {
	nats := harness.StartNATS(t)
	link := harness.SlowLink{Delay: 25 * time.Millisecond, PerSecond: 1_000_000 / 8}
	far := "nats://" + link.To(t, strings.TrimPrefix(nats.URL, "nats://"))
	a, b := queueMember(t, far, "10"), queueMember(t, far, "10")
	c := beginCrowd(t, "", a, b)
	c.enter("over a slow link", false)
	c.more(10 * honest)
	c.end()
}
