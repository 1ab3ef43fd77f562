package tests

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pinion/tests/harness"
)

// The rows of the failure table, with real processes. Each waits for states: a server that is lost is noticed after
// --ack-wait.

// TestAServerIsLost: another one runs its job once more.
func TestAServerIsLost(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{})
	open := makeFIFO(t, a.Dir, "gate")
	enqueue(t, a, "p1", input{"gate": "gate", "token": "p1"})
	becomes(t, a, "p1", "processing")
	b := member(t, nats.URL, harness.Options{Dir: a.Dir})
	a.Kill()
	harness.Eventually(t, "the other server runs it", func() bool { return times(t, b, "p1") == 2 })
	open()
	becomes(t, b, "p1", "succeeded")
}

// TestAServerIsFrozenAndComesBack: its result comes too late, and nothing changes.
func TestAServerIsFrozenAndComesBack(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{})
	makeFIFO(t, a.Dir, "gate")
	enqueue(t, a, "p1", input{"gate": "gate", "token": "p1"})
	becomes(t, a, "p1", "processing")
	b := member(t, nats.URL, harness.Options{Dir: a.Dir})
	a.Signal(syscall.SIGSTOP)
	harness.Eventually(t, "the other server runs it", func() bool { return times(t, b, "p1") == 2 })
	want := succeedsAtGate(t, b, "p1")
	a.Signal(syscall.SIGCONT)
	a.WaitLog("the job was lost to another server while it ran; its result is dropped")
	for _, s := range []*harness.Server{a, b} {
		same(t, "the state afterwards", string(stateOf(s, "p1").Body), string(want.Body))
	}
	enqueue(t, a, "p2", input{})
	becomes(t, a, "p2", "succeeded")
}

// TestNATSIsGoneWhileAJobRuns: what runs ends and is stored when NATS is back, once; synchronous requests go on.
func TestNATSIsGoneWhileAJobRuns(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{})
	open := makeFIFO(t, a.Dir, "gate")
	enqueue(t, a, "p1", input{"gate": "gate", "token": "p1"})
	becomes(t, a, "p1", "processing")
	b := member(t, nats.URL, harness.Options{Dir: a.Dir})
	nats.Kill()
	harness.Eventually(t, "the server knows", func() bool {
		return !strings.Contains(string(a.Do(http.MethodGet, "/health-check", nil).Body), `"connected":true`)
	})
	wantCode(t, "an asynchronous request",
		a.Create(map[string]any{"id": "p2", "input": input{}}, "Prefer", "respond-async"), http.StatusServiceUnavailable)
	wantCode(t, "a synchronous request", b.Input(input{}), http.StatusOK)
	open()
	a.WaitLog("the end of a job could not be stored; will try again")
	nats.Start()
	becomes(t, a, "p1", "succeeded")
	same(t, "it ran", times(t, a, "p1"), 1)
	enqueue(t, b, "p2", input{"token": "p2"})
	becomes(t, a, "p2", "succeeded")
}

// TestAServerIsLostBeforeItsLastWebhook: it has written the end of its job, and not yet stored the webhook of it.
// Another one does the rest, without a run.
func TestAServerIsLostBeforeItsLastWebhook(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{})
	// The webhook of the end comes after that of the start, whose receiver does not answer.
	blocked := make(chan struct{})
	defer close(blocked)
	hooks := newHookReceiver(t)
	hooks.hold = func(p *harness.Prediction) {
		if p.Status == "processing" {
			<-blocked
		}
	}
	open := makeFIFO(t, a.Dir, "gate")
	a.Create(map[string]any{"id": "p1", "input": input{"gate": "gate", "token": "p1"}, "webhook": hooks.URL}, "Prefer",
		"respond-async")
	becomes(t, a, "p1", "processing")
	b := member(t, nats.URL, harness.Options{Dir: a.Dir})
	open()
	becomes(t, b, "p1", "succeeded")
	same(t, "webhooks came before that of the start was answered", len(hooks.of("p1")), 0)
	a.Kill()
	harness.Eventually(t, "the webhook of the end came", func() bool { return len(hooks.of("p1")) > 0 })
	if got := hooks.of("p1")[0]; got.Status != "succeeded" || times(t, b, "p1") != 1 {
		t.Errorf("it is %s, and the job ran %d times", got.Status, times(t, b, "p1"))
	}
}

// TestAServerIsLostWhileItPostsAWebhook: another one posts it again, --ack-wait after the last sign of the first.
func TestAServerIsLostWhileItPostsAWebhook(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{})
	posting, blocked := make(chan struct{}), make(chan struct{})
	defer close(blocked)
	var posts atomic.Int64
	hooks := newHookReceiver(t)
	hooks.hold = func(*harness.Prediction) {
		if posts.Add(1) == 1 {
			close(posting)
			<-blocked
		}
	}
	a.Create(map[string]any{
		"id": "p1", "input": input{"token": "p1"}, "webhook": hooks.URL,
		"webhook_events_filter": []string{"completed"},
	}, "Prefer", "respond-async")
	harness.Receive(t, posting)
	a.Kill()
	b := member(t, nats.URL, harness.Options{Dir: a.Dir})
	becomes(t, b, "p1", "succeeded")
	harness.Eventually(t, "it is posted again", func() bool { return len(hooks.of("p1")) > 0 })
	got := hooks.of("p1")[0]
	if got.Status != "succeeded" || got.header.Get("Webhook-Id") != "p1" || times(t, b, "p1") != 1 {
		t.Errorf("it is %s, with the id %q, and the job ran %d times", got.Status, got.header.Get("Webhook-Id"),
			times(t, b, "p1"))
	}
}

// TestAJobThatKillsItsServers ends as failed, and is kept for an operator.
func TestAJobThatKillsItsServers(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	args := []string{"--attempts", "2"}
	a := member(t, nats.URL, harness.Options{Args: args})
	makeFIFO(t, a.Dir, "gate")
	enqueue(t, a, "p1", input{"gate": "gate", "token": "p1"})
	for run := 1; run <= 2; run++ {
		harness.Eventually(t, "it runs", func() bool { return times(t, a, "p1") == run })
		next := member(t, nats.URL, harness.Options{Dir: a.Dir, Args: args})
		a.Kill()
		a = next
	}
	got := becomes(t, a, "p1", "failed")
	if !strings.Contains(got.Error, "gave up after 2 attempts") || times(t, a, "p1") != 2 {
		t.Errorf("after %d runs: %s", times(t, a, "p1"), got)
	}
}

func TestADeadlinePassesInTheQueue(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{})
	open := makeFIFO(t, a.Dir, "gate")
	enqueue(t, a, "runs", input{"gate": "gate"})
	becomes(t, a, "runs", "processing")
	enqueue(t, a, "late", input{"token": "late"}, "Pinion-Deadline", "1")
	wantText(t, "the error", becomes(t, a, "late", "failed").Error, "the deadline passed")
	open()
	becomes(t, a, "runs", "succeeded")
	enqueue(t, a, "next", input{"token": "next"}) // what is behind the late one comes after it
	becomes(t, a, "next", "succeeded")
	same(t, "the late one ran", times(t, a, "late"), 0)
}

// TestTheBoundsOfAQueue: of a tenant, and of all.
func TestTheBoundsOfAQueue(t *testing.T) {
	t.Parallel()
	a := member(t, "embed:"+t.TempDir(),
		harness.Options{Args: []string{
			"--tenant-header", "X-Tenant", "--tenant-capacity", "2", "--jobs-capacity", "4",
			"--lanes", "2",
		}})
	open := makeFIFO(t, a.Dir, "gate")
	enqueue(t, a, "runs", input{"gate": "gate"}, "X-Tenant", "small")
	becomes(t, a, "runs", "processing")
	async := []string{"Prefer", "respond-async"}
	full := func(id string, headers ...string) {
		t.Helper()
		got := a.Create(map[string]any{"id": id, "input": input{}}, append(async, headers...)...)
		if got.Code != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s", id, got)
		}
		wantCode(t, fmt.Sprintf("the refused %s is known", id), stateOf(a, id), http.StatusNotFound)
	}
	enqueue(t, a, "g1", input{}, "X-Tenant", "greedy")
	enqueue(t, a, "g2", input{}, "X-Tenant", "greedy")
	full("g3", "X-Tenant", "greedy")
	enqueue(t, a, "s2", input{}, "X-Tenant", "small", "Pinion-Priority", "hi")
	full("other", "X-Tenant", "other")
	wantCode(t, "an unknown priority",
		a.Create(map[string]any{"input": input{}}, "Prefer", "respond-async", "Pinion-Priority", "urgent"),
		http.StatusBadRequest)
	open()
	for _, id := range []string{"runs", "g1", "g2", "s2"} {
		becomes(t, a, id, "succeeded")
	}
}

// TestTheLeaderOfNATSIsKilled: three servers of NATS store everything, the leader is killed three times while clients
// accept, and clients repeat what was refused or left in doubt. What was answered 202 ends once.
func TestTheLeaderOfNATSIsKilled(t *testing.T) {
	t.Parallel()
	cluster := harness.StartNATSCluster(t)
	var urls []string
	for _, n := range cluster {
		urls = append(urls, n.URL)
	}
	all := strings.Join(urls, ",")
	// Two members join when the three servers of NATS have found each other.
	args := []string{"--nats-replicas", "3", "--ack-wait", "30s"}
	a := member(t, all, harness.Options{Args: args})
	harness.Eventually(t, "it joins", func() bool {
		return a.Create(map[string]any{"id": "first", "input": input{}}, "Prefer",
			"respond-async").Code == http.StatusAccepted
	})
	b := member(t, all, harness.Options{Dir: a.Dir, Args: args})
	var accepted sync.Map
	var count atomic.Int64
	var clients sync.WaitGroup
	stop := make(chan struct{})
	for c := range 4 {
		s := []*harness.Server{a, b}[c%2]
		clients.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("c%d-%d", c, i)
				for {
					select {
					case <-stop:
						return
					default:
					}
					got := s.Do(http.MethodPut, "/predictions/"+id, map[string]any{"input": input{"token": id}}, "Prefer",
						"respond-async")
					if got.Code == http.StatusAccepted {
						accepted.Store(id, true)
						count.Add(1)
						time.Sleep(10 * time.Millisecond) // each of them is asked for at the end
						break
					}
					if got.Code != http.StatusServiceUnavailable && got.Code != http.StatusTooManyRequests {
						t.Errorf("%s: %s", id, got)
						return
					}
					time.Sleep(50 * time.Millisecond) // as Retry-After asks, so that the refused do not take the machine
				}
			}
		})
	}
	kills := 1
	if harness.IsFull() {
		kills = 3
	}
	for range kills {
		before := count.Load()
		harness.Eventually(t, "more are accepted", func() bool { return count.Load() > before+50 })
		leader := cluster[harness.StreamLeader(t, cluster, "PINION_JOBS_m")]
		leader.Kill()
		before = count.Load()
		harness.Eventually(t, "more are accepted without it", func() bool { return count.Load() > before+50 })
		leader.Start()
		harness.Eventually(t, "it is back", func() bool { return harness.InSync(cluster, "PINION_JOBS_m") })
	}
	close(stop)
	clients.Wait()
	accepted.Range(func(id, _ any) bool {
		becomes(t, a, id.(string), "succeeded")
		return !t.Failed()
	})
	runs := map[string]int{}
	for _, token := range lines(t, a, "ran.txt") {
		runs[token]++
	}
	again := 0
	accepted.Range(func(id, _ any) bool {
		switch n := runs[id.(string)]; {
		case n == 0:
			t.Errorf("%s never ran", id)
		case n > 1:
			again++
		}
		return true
	})
	if again > 0 {
		t.Errorf("%d ran more than once, though no server was lost", again)
	}
	t.Logf("%d accepted", count.Load())
}

// TestAJobWaitsBehindDyingWorkers: while no worker is tried again, another server runs the job, or it ends with the cause.
func TestAJobWaitsBehindDyingWorkers(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{Model: "dying.py", Args: []string{"--attempts", "1"}})
	for i := range 5 {
		id := fmt.Sprint("crash", i)
		enqueue(t, a, id, input{"how": "abort"})
		if got := becomes(t, a, id, "failed"); !strings.Contains(got.Error, "SIGABRT") {
			t.Errorf("%s: got %s, want the cause", id, got)
		}
	}
	a.WaitHealth("DEFUNCT")
	enqueue(t, a, "behind", input{"token": "behind"})
	b := member(t, nats.URL, harness.Options{Model: "dying.py", Dir: a.Dir})
	becomes(t, b, "behind", "succeeded")
	if n := times(t, a, "behind"); n != 1 {
		t.Errorf("the job ran %d times, want once", n)
	}
}
