package queue

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// The rows of the failure table, with real processes. Each waits for states: a server that is lost is noticed after
// --ack-wait.

// TestFaults_ServerIsLost: another one runs its job once more.
func TestFaults_ServerIsLost(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	open := harness.EnqueueAtGate(t, a, "p1")
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	a.Kill()
	assert.Eventually(t, "the other server runs it", func() bool { return harness.TimesRun(t, b, "p1") == 2 })
	open()
	harness.WaitStatus(t, b, "p1", "succeeded")
}

// TestFaults_ServerIsFrozenAndComesBack: its result comes too late, and nothing changes.
func TestFaults_ServerIsFrozenAndComesBack(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	harness.EnqueueAtGate(t, a, "p1")
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	a.Signal(syscall.SIGSTOP)
	assert.Eventually(t, "the other server runs it", func() bool { return harness.TimesRun(t, b, "p1") == 2 })
	want := succeedsAtGate(t, b, "p1")
	a.Signal(syscall.SIGCONT)
	a.WaitLog("another server took the job over while it ran: its result is dropped")
	for _, s := range []*harness.Server{a, b} {
		assert.Equal(t, "the state afterwards", string(harness.StateOf(s, "p1").Body), string(want.Body))
	}
	harness.Enqueue(t, a, "p2", harness.Input{})
	harness.WaitStatus(t, a, "p2", "succeeded")
}

// TestFaults_NATSIsGoneWhileJobRuns: what runs ends and is stored when NATS is back, once; synchronous requests go on.
func TestFaults_NATSIsGoneWhileJobRuns(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	open := harness.EnqueueAtGate(t, a, "p1")
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	nats.Kill()
	assert.Eventually(t, "the server knows", func() bool {
		return !strings.Contains(string(a.Do(http.MethodGet, "/health-check", nil).Body), `"connected":true`)
	})
	harness.WantCode(t, "an asynchronous request",
		a.Create(map[string]any{"id": "p2", "input": harness.Input{}}, "Prefer", "respond-async"),
		http.StatusServiceUnavailable)
	harness.WantCode(t, "a synchronous request", b.Input(harness.Input{}), http.StatusOK)
	open()
	a.WaitLog("the end of a job could not be stored; will try again")
	nats.Start()
	harness.WaitStatus(t, a, "p1", "succeeded")
	assert.Equal(t, "it ran", harness.TimesRun(t, a, "p1"), 1)
	harness.Enqueue(t, b, "p2", harness.Input{"token": "p2"})
	harness.WaitStatus(t, a, "p2", "succeeded")
}

// TestFaults_ServerIsLostBeforeItsLastWebhook: it has written the end of its job, and not yet stored the webhook of it.
// Another one does the rest, without a run.
func TestFaults_ServerIsLostBeforeItsLastWebhook(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	// The webhook of the end comes after that of the start, whose receiver does not answer.
	blocked := make(chan struct{})
	defer close(blocked)
	hooks := harness.NewHookReceiver(t)
	hooks.Hold = func(p *harness.Prediction) {
		if p.Status == "processing" {
			<-blocked
		}
	}
	open := harness.MakeFIFO(t, a.Dir, "gate")
	a.Create(map[string]any{"id": "p1", "input": harness.Input{"gate": "gate", "token": "p1"}, "webhook": hooks.URL},
		"Prefer",
		"respond-async")
	harness.WaitStatus(t, a, "p1", "processing")
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	open()
	harness.WaitStatus(t, b, "p1", "succeeded")
	assert.Equal(t, "webhooks came before that of the start was answered", len(hooks.Of("p1")), 0)
	a.Kill()
	assert.Eventually(t, "the webhook of the end came", func() bool { return len(hooks.Of("p1")) > 0 })
	if got := hooks.Of("p1")[0]; got.Status != "succeeded" || harness.TimesRun(t, b, "p1") != 1 {
		t.Errorf("it is %s, and the job ran %d times, want succeeded and 1", got.Status, harness.TimesRun(t, b, "p1"))
	}
}

// TestFaults_ServerIsLostWhileItPostsWebhook: another one posts it again, --ack-wait after the last sign of the first.
func TestFaults_ServerIsLostWhileItPostsWebhook(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	posting, blocked := make(chan struct{}), make(chan struct{})
	defer close(blocked)
	var posts atomic.Int64
	hooks := harness.NewHookReceiver(t)
	hooks.Hold = func(*harness.Prediction) {
		if posts.Add(1) == 1 {
			close(posting)
			<-blocked
		}
	}
	a.Create(map[string]any{
		"id": "p1", "input": harness.Input{"token": "p1"}, "webhook": hooks.URL,
		"webhook_events_filter": []string{"completed"},
	}, "Prefer", "respond-async")
	harness.Receive(t, posting)
	a.Kill()
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	harness.WaitStatus(t, b, "p1", "succeeded")
	assert.Eventually(t, "it is posted again", func() bool { return len(hooks.Of("p1")) > 0 })
	got := hooks.Of("p1")[0]
	assert.Equal(t, "its status", got.Status, "succeeded")
	assert.Equal(t, "its Webhook-Id", got.Header.Get("Webhook-Id"), "p1")
	assert.Equal(t, "runs", harness.TimesRun(t, b, "p1"), 1)
}

// TestFaults_MemberIsFrozenThatPullsWebhooks: what it pulled before it could give a sign is posted by another one, also
// after --ack-wait.
func TestFaults_MemberIsFrozenThatPullsWebhooks(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	gateway := harness.StartGateway(t, nats.URL)
	hooks := harness.NewHookReceiver(t)
	harness.SendSignal(t, gateway.Cmd.Process.Pid, syscall.SIGSTOP)
	defer harness.SendSignal(t, gateway.Cmd.Process.Pid, syscall.SIGCONT)
	const jobs = 4 // members that wait get webhooks in turn
	for i := range jobs {
		a.Create(map[string]any{
			"id": fmt.Sprint("p", i), "input": harness.Input{}, "webhook": hooks.URL,
			"webhook_events_filter": []string{"completed"},
		}, "Prefer", "respond-async")
	}
	for i := range jobs {
		id := fmt.Sprint("p", i)
		assert.TrueNow(t, assert.Within(time.Minute, 5*time.Millisecond, func() bool { return len(hooks.Of(id)) > 0 }),
			"no webhook of %s came within a minute, want one after --ack-wait", id)
	}
}

// TestFaults_JobThatKillsItsServers ends as failed, and is kept for an operator.
func TestFaults_JobThatKillsItsServers(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	args := []string{"--attempts", "2"}
	a := harness.StartMember(t, nats.URL, harness.Options{Args: args})
	harness.MakeFIFO(t, a.Dir, "gate")
	harness.Enqueue(t, a, "p1", harness.Input{"gate": "gate", "token": "p1"})
	for run := 1; run <= 2; run++ {
		assert.Eventually(t, "it runs", func() bool { return harness.TimesRun(t, a, "p1") == run })
		next := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir, Args: args})
		a.Kill()
		a = next
	}
	got := harness.WaitStatus(t, a, "p1", "failed")
	assert.True(t, strings.Contains(got.Error, "gave up after 2 attempts") && harness.TimesRun(t, a, "p1") == 2,
		`after %d runs: %s, want Error with "gave up after 2 attempts" and TimesRun 2`, harness.TimesRun(t, a, "p1"), got)
}

func TestFaults_DeadlinePassesInQueue(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	open := harness.MakeFIFO(t, a.Dir, "gate")
	harness.Enqueue(t, a, "runs", harness.Input{"gate": "gate"})
	harness.WaitStatus(t, a, "runs", "processing")
	harness.Enqueue(t, a, "late", harness.Input{"token": "late"}, "Pinion-Deadline", "1")
	assert.Contains(t, "the error", harness.WaitStatus(t, a, "late", "failed").Error, "the deadline passed")
	assert.Contains(t, "the list of what has ended",
		harness.CLI{}.Good(t, "jobs", "list", "--ended", "--failed", "--nats", nats.URL, "--model", "m"),
		"late  failed", "the deadline passed while the prediction waited")
	open()
	harness.WaitStatus(t, a, "runs", "succeeded")
	harness.Enqueue(t, a, "next", harness.Input{"token": "next"}) // what is behind the late one comes after it
	harness.WaitStatus(t, a, "next", "succeeded")
	assert.Equal(t, "the late one ran", harness.TimesRun(t, a, "late"), 0)
}

// TestFaults_BoundsOfQueue: of a tenant, and of all.
func TestFaults_BoundsOfQueue(t *testing.T) {
	t.Parallel()
	a := harness.StartMember(t, "embed:"+t.TempDir(),
		harness.Options{Args: []string{
			"--tenant-header", "X-Tenant", "--tenant-capacity", "2", "--jobs-capacity", "4",
			"--lanes", "2",
		}})
	open := harness.MakeFIFO(t, a.Dir, "gate")
	harness.Enqueue(t, a, "runs", harness.Input{"gate": "gate"}, "X-Tenant", "small")
	harness.WaitStatus(t, a, "runs", "processing")
	async := []string{"Prefer", "respond-async"}
	full := func(id string, headers ...string) {
		t.Helper()
		got := a.Create(map[string]any{"id": id, "input": harness.Input{}}, append(async, headers...)...)
		assert.True(t, got.Code == http.StatusTooManyRequests && got.Header.Get("Retry-After") != "",
			"%s: %s, want Code 429 and Retry-After non-empty", id, got)
		harness.WantCode(t, fmt.Sprintf("the refused %s is known", id), harness.StateOf(a, id), http.StatusNotFound)
	}
	harness.Enqueue(t, a, "g1", harness.Input{}, "X-Tenant", "greedy")
	harness.Enqueue(t, a, "g2", harness.Input{}, "X-Tenant", "greedy")
	full("g3", "X-Tenant", "greedy")
	harness.Enqueue(t, a, "s2", harness.Input{}, "X-Tenant", "small", "Pinion-Priority", "hi")
	full("other", "X-Tenant", "other")
	harness.WantCode(t, "an unknown priority",
		a.Create(map[string]any{"input": harness.Input{}}, "Prefer", "respond-async", "Pinion-Priority", "urgent"),
		http.StatusBadRequest)
	open()
	for _, id := range []string{"runs", "g1", "g2", "s2"} {
		harness.WaitStatus(t, a, id, "succeeded")
	}
}

// TestFaults_LeaderOfNATSIsKilled: three servers of NATS store everything, the leader is killed three times while
// clients accept, and clients repeat what was refused or left in doubt. What was answered 202 ends once.
func TestFaults_LeaderOfNATSIsKilled(t *testing.T) {
	t.Parallel()
	cluster := harness.StartNATSCluster(t)
	var urls []string
	for _, n := range cluster {
		urls = append(urls, n.URL)
	}
	joined := strings.Join(urls, ",")
	// Two members join when the three servers of NATS have found each other.
	args := []string{"--nats-replicas", "3", "--ack-wait", "30s"}
	a := harness.StartMember(t, joined, harness.Options{Args: args})
	assert.Eventually(t, "it joins", func() bool {
		return a.Create(map[string]any{"id": "first", "input": harness.Input{}}, "Prefer",
			"respond-async").Code == http.StatusAccepted
	})
	b := harness.StartMember(t, joined, harness.Options{Dir: a.Dir, Args: args})
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
					got := s.Do(http.MethodPut, "/predictions/"+id, map[string]any{"input": harness.Input{"token": id}}, "Prefer",
						"respond-async")
					if got.Code == http.StatusAccepted {
						accepted.Store(id, true)
						count.Add(1)
						time.Sleep(10 * time.Millisecond) // each of them is asked for at the end
						break
					}
					if got.Code != http.StatusServiceUnavailable && got.Code != http.StatusTooManyRequests {
						t.Errorf("%s: %s, want Code 503 or 429", id, got)
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
		assert.Eventually(t, "more are accepted", func() bool { return count.Load() > before+50 })
		leader := cluster[harness.StreamLeader(t, cluster, "PINION_JOBS_m")]
		leader.Kill()
		before = count.Load()
		assert.Eventually(t, "more are accepted without it", func() bool { return count.Load() > before+50 })
		leader.Start()
		assert.Eventually(t, "it is back", func() bool { return harness.InSync(cluster, "PINION_JOBS_m") })
	}
	close(stop)
	clients.Wait()
	accepted.Range(func(id, _ any) bool {
		harness.WaitStatus(t, a, id.(string), "succeeded")
		return !t.Failed()
	})
	runs := map[string]int{}
	for _, token := range harness.ModelLines(t, a, "ran.txt") {
		runs[token]++
	}
	again := 0
	accepted.Range(func(id, _ any) bool {
		switch n := runs[id.(string)]; {
		case n == 0:
			t.Errorf("%s never ran: got %d, want anything but 0", id, n)
		case n > 1:
			again++
		}
		return true
	})
	assert.True(t, again <= 0, "%d ran more than once, though no server was lost", again)
	t.Logf("%d accepted", count.Load())
}

// TestFaults_JobWaitsBehindDyingWorkers: while no worker is tried again, another server runs the job, or it ends with
// the cause.
func TestFaults_JobWaitsBehindDyingWorkers(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := harness.StartMember(t, nats.URL, harness.Options{Model: "dying.py", Args: []string{"--attempts", "1"}})
	for i := range 5 {
		id := fmt.Sprint("crash", i)
		harness.Enqueue(t, a, id, harness.Input{"how": "abort"})
		got := harness.WaitStatus(t, a, id, "failed")
		assert.True(t, strings.Contains(got.Error, "SIGABRT"), "%s: got %s, want the cause", id, got)
	}
	a.WaitHealth("DEFUNCT")
	harness.Enqueue(t, a, "behind", harness.Input{"token": "behind"})
	b := harness.StartMember(t, nats.URL, harness.Options{Model: "dying.py", Dir: a.Dir})
	harness.WaitStatus(t, b, "behind", "succeeded")
	assert.Equal(t, "runs of the job", harness.TimesRun(t, a, "behind"), 1)
}
