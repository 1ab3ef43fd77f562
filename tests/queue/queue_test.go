package queue

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestQueue_OfTwoServers: what one server accepts, any runs, and every one answers for it.
func TestQueue_OfTwoServers(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	open := harness.MakeFIFO(t, a.Dir, "gate")
	harness.Enqueue(t, a, "p1", harness.Input{"gate": "gate", "token": "p1"})
	harness.WaitStatus(t, b, "p1", "processing")
	open()
	for _, s := range []*harness.Server{a, b} {
		got := harness.WaitStatus(t, s, "p1", "succeeded")
		assert.True(t, strings.Contains(string(got.Body), `"input":{"gate":"gate","token":"p1"}`) && got.CreatedAt != "" &&
			got.StartedAt != "" && got.CompletedAt != "", "got %s, want the hidden token's input, and all three times", got)
	}
	assert.Equal(t, "it ran", harness.TimesRun(t, a, "p1"), 1)
	for _, s := range []*harness.Server{a, b} { // the same id is the same prediction, at every member
		body := map[string]any{"id": "p1", "input": harness.Input{}}
		got := s.Create(body, "Prefer", "respond-async")
		assert.True(t, got.Code == http.StatusConflict && got.Header.Get("Pinion-Retry") == "",
			"POST of a known id: %s, want Code 409 and Pinion-Retry empty", got)
		harness.WantAnswer(t, "PUT of a known id", s.Do(http.MethodPut, "/predictions/p1", body, "Prefer", "respond-async"),
			http.StatusAccepted, `"status":"succeeded"`)
	}
	n := harness.TimesRun(t, a, "")
	assert.True(t, n == 0 && len(harness.ModelLines(t, a, "ran.txt")) == 1,
		"a repeated id ran again: %q: got n %d, want n 0 and len(ModelLines) 1", harness.ModelLines(t, a, "ran.txt"), n)
}

// TestQueue_RunsOnAllServers: places decide, not who accepted.
func TestQueue_RunsOnAllServers(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	for i := range 2 {
		defer harness.MakeFIFO(t, a.Dir, fmt.Sprint("gate", i))()
		harness.Enqueue(t, a, fmt.Sprint("p", i), harness.Input{"gate": fmt.Sprint("gate", i)})
	}
	for i := range 2 { // each server has one slot: both run only if each runs one
		harness.WaitStatus(t, b, fmt.Sprint("p", i), "processing")
	}
	harness.Enqueue(t, b, "waits", harness.Input{})
	harness.WantStatus(t, "a third job on two places", harness.StateOf(a, "waits"), "starting")
	harness.WantCode(t, "a synchronous request beside them", a.Input(harness.Input{}), http.StatusConflict)
}

func TestQueue_QueuedPredictionIsCanceledAnywhere(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	hooks := harness.NewHookReceiver(t)
	for _, name := range []string{"p1", "p2"} {
		harness.Enqueue(t, a, name, harness.Input{"do": "sleep", "token": name})
		harness.WaitStatus(t, a, name, "processing")
	}
	a.Create(map[string]any{"id": "waits", "input": harness.Input{"token": "waits"}, "webhook": hooks.URL}, "Prefer",
		"respond-async")
	for _, id := range []string{"waits", "p1", "p2"} { // "waits" would begin after the others
		harness.WantCode(t, "cancel "+id, b.Cancel(id), http.StatusOK)
		for _, s := range []*harness.Server{a, b} {
			harness.WaitStatus(t, s, id, "canceled")
		}
		harness.WantCode(t, fmt.Sprintf("cancel %s again", id), a.Cancel(id), http.StatusOK)
	}
	assert.Equal(t, "a job that was canceled while it waited ran", harness.TimesRun(t, a, "waits"), 0)
	assert.Eventually(t, "its webhook came", func() bool { return len(hooks.Of("waits")) == 1 })
	harness.WantCode(t, "cancel an unknown id", b.Cancel("unknown"), http.StatusNotFound)
	harness.WantCode(t, "GET an unknown id", harness.StateOf(b, "unknown"), http.StatusNotFound)
}

func TestQueue_WebhooksOfQueuedPrediction(t *testing.T) {
	t.Parallel()
	s := harness.StartMember(t, "embed:"+t.TempDir(), harness.Options{})
	hooks := harness.NewHookReceiver(t)
	a := s.Create(map[string]any{"id": "p1", "input": harness.Input{}, "webhook": hooks.URL}, "Prefer", "respond-async",
		"X-Request-Id", "q1")
	assert.EqualNow(t, fmt.Sprintf("%v", a), a.Code, http.StatusAccepted)
	assert.Eventually(t, "completed came", func() bool {
		posted := hooks.Of("p1")
		return len(posted) > 0 && posted[len(posted)-1].Status == "succeeded"
	})
	posted := hooks.Of("p1")
	first, last := posted[0], posted[len(posted)-1]
	assert.Equal(t, "the first status", first.Status, "processing")
	assert.Equal(t, "its attempt", first.Header.Get("Pinion-Attempt"), "1")
	assert.Equal(t, "its Webhook-Id", first.Header.Get("Webhook-Id"), "")
	if last.Header.Get("Webhook-Id") != "p1" || last.Header.Get("X-Request-Id") != "q1" || last.CompletedAt == "" {
		t.Errorf("the last webhook is %+v with %v, want Webhook-Id p1, X-Request-Id q1 and CompletedAt non-empty",
			last.Prediction, last.Header)
	}
}

// TestQueue_AcceptedPredictionsSurviveTheirServer: it is killed with one prediction running and some waiting, and
// started again.
func TestQueue_AcceptedPredictionsSurviveTheirServer(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "jobs")
	s := harness.StartMember(t, "embed:"+store, harness.Options{})
	harness.EnqueueAtGate(t, s, "runs")
	for i := range 5 {
		harness.Enqueue(t, s, fmt.Sprint("waits", i), harness.Input{"token": fmt.Sprint("waits", i)})
	}
	s.Kill()

	// one has the lost job, if it comes first
	next := harness.StartMember(t, "embed:"+store, harness.Options{Dir: s.Dir, Args: []string{"--workers", "2"}})
	if got := harness.StateOf(next, "runs"); got.Status != "processing" && got.Status != "starting" {
		t.Errorf("after the start it is %s, want Status processing or starting", got)
	}
	for i := range 5 {
		id := fmt.Sprint("waits", i)
		harness.WaitStatus(t, next, id, "succeeded")
		assert.Equal(t, id+" ran", harness.TimesRun(t, next, id), 1)
	}
	assert.Eventually(t, "the lost one runs again", func() bool { return harness.TimesRun(t, next, "runs") == 2 })
	next.Cancel("runs")
	harness.WaitStatus(t, next, "runs", "canceled")
}

// TestQueue_PowerLossTakesWhatNoDiskHad: the files are then those of the last sync. What was accepted since is lost,
// and its client repeats the id; what was accepted before is not.
func TestQueue_PowerLossTakesWhatNoDiskHad(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "queue")
	s := harness.StartMember(t, "embed:"+store, harness.Options{})
	harness.EnqueueAtGate(t, s, "before")
	s.Kill()
	_ = os.Remove(filepath.Join(store, "socket")) // it is not a file to copy
	synced := filepath.Join(t.TempDir(), "queue")
	assert.NoError(t, os.CopyFS(synced, os.DirFS(store)))
	assert.NoError(t, os.Chmod(synced, 0o700))

	s = harness.StartMember(t, "embed:"+store, harness.Options{Dir: s.Dir})
	harness.Enqueue(t, s, "since", harness.Input{"token": "since"})
	s.Kill()

	s = harness.StartMember(t, "embed:"+synced, harness.Options{Dir: s.Dir}) // as the disk has it
	harness.WantCode(t, "what was accepted since", harness.StateOf(s, "since"), http.StatusNotFound)
	again := s.Do(http.MethodPut, "/predictions/since", map[string]any{"input": harness.Input{"token": "since"}}, "Prefer",
		"respond-async")
	harness.WantCode(t, "the same id", again, http.StatusAccepted)
	succeedsAtGate(t, s, "before")
	harness.WaitStatus(t, s, "since", "succeeded")
}

func TestQueue_ServerOfBusyFolderIsRefused(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	harness.StartMember(t, "embed:"+store, harness.Options{})
	harness.WantRefused(t, harness.Options{Model: "fleet.py", Args: []string{"--nats", "embed:" + store, "--model", "m"}},
		harness.AnyCode, "the job queue's folder "+store+" is in use by another server")
}

// TestQueue_DrainGivesItsJobsBack: SIGTERM ends a server whose job takes longer than the grace, and another one runs
// it.
func TestQueue_DrainGivesItsJobsBack(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := harness.StartMember(t, nats.URL, harness.Options{Args: []string{"--grace", "1s"}})
	open := harness.EnqueueAtGate(t, a, "p1")
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	a.Stop()
	assert.Eventually(t, "the other server runs it", func() bool { return harness.TimesRun(t, b, "p1") == 2 })
	open()
	harness.WaitStatus(t, b, "p1", "succeeded")
}

// TestQueue_ServerWithoutItsNATS starts, serves synchronous requests, refuses asynchronous ones, and joins when NATS is
// there.
func TestQueue_ServerWithoutItsNATS(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	nats.Kill()
	s := harness.StartMember(t, nats.URL, harness.Options{})
	harness.WantCode(t, "a synchronous request", s.Input(harness.Input{}), http.StatusOK)
	got := s.Create(map[string]any{"id": "p1", "input": harness.Input{}}, "Prefer", "respond-async")
	assert.True(t, got.Code == http.StatusServiceUnavailable && got.Header.Get("Retry-After") != "" &&
		got.Header.Get("Pinion-Retry") == "elsewhere",
		"an asynchronous request: %s %v, want Code 503, Retry-After non-empty and Pinion-Retry elsewhere", got, got.Header)
	address := strings.TrimPrefix(nats.URL, "nats://")
	if text := string(got.Body); !strings.Contains(text, "NATS cannot be reached") || strings.Contains(text, address) {
		t.Errorf(`a client reads %s, want it with "NATS cannot be reached" and without %q`, text, address)
	}
	assert.Contains(t, fmt.Sprintf("the log does not name the URL: %s", s.Log),
		s.Log.String(), "connect to NATS at nats://"+address)
	nats.Start()
	assert.Eventually(t, "it is accepted", func() bool {
		return s.Create(map[string]any{"id": "p1", "input": harness.Input{}}, "Prefer",
			"respond-async").Code == http.StatusAccepted
	})
	harness.WaitStatus(t, s, "p1", "succeeded")
}

func TestQueue_SettingsOfQueueThatAreRefused(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATSFor(t, "u", "right")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--nats", "http://127.0.0.1:4222"}, "invalid NATS URL http://127.0.0.1:4222: must be"},
		{[]string{"--nats", nats.URL, "--model", "a b"}, `--model \"a b\": a name is 1 to 200 of a-z A-Z 0-9 . _ - : and /`},
		{
			[]string{"--nats", "nats://127.0.0.1:99999"},
			"invalid NATS URL nats://127.0.0.1:99999: the port must be 1 to 65535",
		},
		{[]string{"--nats", "embed," + nats.URL}, "--nats embed: embed cannot be combined with URLs"},
		{[]string{"--nats", "http://wrong-one@127.0.0.1:1"}, "invalid NATS URL http://xxxxx@127.0.0.1:1: must be"}, // a token
		{[]string{"--nats", strings.Replace(nats.URL, "//", "//wrong-one@", 1)}, "connect to NATS at nats://xxxxx@127.0.0.1"},
		{[]string{"--nats", nats.URL}, "Authorization Violation"},
		{[]string{"--nats", strings.Replace(nats.URL, "//", "//u:wrong-one@", 1)}, "Authorization Violation"},
		{[]string{"--nats", nats.URL, "--nats-creds", "/missing.creds"}, "--nats-creds: open /missing.creds"},
		{[]string{"--nats", nats.URL, "--nats-tls-ca", "cog.yaml"}, "--nats-tls-ca"},
		{[]string{"--nats", nats.URL, "--nats-tls-cert", "c.pem"}, "--nats-tls-cert and --nats-tls-key go together"},
		{[]string{"--nats", nats.URL, "--ack-wait", "5s"}, "--ack-wait 5s: must be at least 15s"},
		{
			[]string{"--nats", nats.URL, "--result-ttl", "40s"},
			"--result-ttl 40s: with --nats it is 1m0s (twice --ack-wait) to 24h0m0s",
		},
		{[]string{"--nats-creds", "x"}, "need --nats"},
	} {
		args := c.args
		if !strings.Contains(strings.Join(args, " "), "--model") {
			args = append(args, "--model", "m")
		}
		code, text := harness.Refused(t, harness.Options{Model: "fleet.py", Args: args})
		assert.True(t, code != 0 &&
			(strings.Contains(text, c.want) || strings.Contains(text, strings.ReplaceAll(c.want, `\"`, `"`))) &&
			!strings.Contains(text, "wrong-one"), "%q: exit code %d, %s; want %s", c.args, code, text, c.want)
	}
}

// TestQueue_WithOtherSettings: the second server names the field and both values.
func TestQueue_WithOtherSettings(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	harness.StartMember(t, nats.URL, harness.Options{})
	harness.WantRefused(t, harness.Options{
		Model: "fleet.py", Args: []string{"--nats", nats.URL, "--model", "m", "--jobs-capacity", "7"},
	}, 2,
		"the stream PINION_JOBS_m has max_msgs 100000, but this server is to have 7")
}
