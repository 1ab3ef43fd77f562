package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue"
	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// jobsRig is a NATS server with the queue of the model "m".
type jobsRig struct {
	t   *testing.T
	url string
	nc  *nats.Conn
	q   *store.Queue
}

// natsPassword is the password of the rig's user.
const natsPassword = "password-of-nats"

func newJobsRig(t *testing.T) *jobsRig {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		JetStreamMaxStore: 8 << 30,
		Username:          "u", Password: natsPassword,
	})
	assert.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	assert.TrueNow(t, s.ReadyForConnections(20*time.Second),
		"NATS does not answer")
	r := &jobsRig{t: t, url: fmt.Sprintf("nats://u:%s@%s", natsPassword, s.Addr())}
	r.nc = assert.Must(nats.Connect(r.url))(t)
	t.Cleanup(r.nc.Close)
	r.q, err = store.Open(t.Context(), state.Connected(r.nc), state.Options{Model: "m", Server: "a", Bytes: 64 << 20})
	assert.NoError(t, err)
	return r
}

// secrets must not be in any output: those of a body, of a webhook's URL, of NATS.
var secrets = []string{"secret-of-the-body", "secret-of-the-hook", natsPassword}

// accept stores a job whose input has a secret, which its object has not.
func (r *jobsRig) accept(id string) {
	r.t.Helper()
	j := state.Job{
		ID: id, Kind: state.Prediction, Class: state.Normal, Attempts: 3, ContentType: "application/json", Tenant: "t1",
		Body: []byte(`{"input":{"key":"secret-of-the-body"}}`),
		Hook: &state.Hook{URL: "http://u:secret-of-the-hook@hook.test/x?token=secret-of-the-hook"},
	}
	object, err := json.Marshal(map[string]any{
		"id": id, "input": map[string]string{"key": "**********"},
		"status": "starting",
	})
	if err == nil {
		_, err = r.q.Accept(r.t.Context(), j, object, false)
	}
	assert.NoError(r.t, err)
}

// letter makes a dead letter.
func (r *jobsRig) letter(id, reason string) {
	r.t.Helper()
	m := nats.NewMsg("pinion.dead.m." + id)
	for name, value := range map[string]string{
		"Pinion-Id": id, "Pinion-Kind": "prediction", "Pinion-Attempts": "3", "Pinion-Reason": reason,
		"Pinion-Subject": "pinion.job.m.hi.0.t1",
		nats.MsgIdHdr:    "token-" + id, "Pinion-Webhook": "http://hook.test/?token=secret-of-the-hook",
	} {
		m.Header.Set(name, value)
	}
	m.Data = []byte(`{"input":{"key":"secret-of-the-body"}}`)
	js, err := r.nc.JetStream()
	if err == nil {
		_, err = js.PublishMsg(m)
	}
	assert.NoError(r.t, err)
}

// run runs 'pinion jobs'.
func (r *jobsRig) run(args ...string) (string, error) {
	r.t.Helper()
	root := newJobs()
	root.SilenceUsage, root.SilenceErrors = true, true // as pinion itself has it
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(r.t.Context())
	for _, secret := range secrets {
		if strings.Contains(out.String()+fmt.Sprint(err), secret) {
			r.t.Errorf("pinion jobs %s tells %s: %s %v, want it nowhere", strings.Join(args, " "), secret, &out, err)
		}
	}
	return out.String(), err
}

// of runs 'pinion jobs' about the rig's model.
func (r *jobsRig) of(args ...string) (string, error) {
	return r.run(append(args, "--nats", r.url, "--model", "m")...)
}

func (r *jobsRig) good(args ...string) string {
	r.t.Helper()
	out, err := r.of(args...)
	assert.TrueNow(r.t, err == nil, "pinion jobs %q: got %v, want no error", args, err)
	return out
}

func TestJobs_ListAndShow(t *testing.T) {
	r := newJobsRig(t)
	r.accept("p1")
	r.accept("p\x1b[2J")
	r.letter("d1", "gave up after 3 attempts")
	table := r.good("list")
	for _, want := range []string{
		"jobs: 2 of at most 100000; dead letters: 1\n", "\np1 ", " waiting ", " std ", " t1 ",
		`"p\x1b[2J"`, "\nd1 ", "gave up after 3 attempts",
	} {
		assert.Contains(t, "table", table, want)
	}
	var list struct {
		Stored int
		Jobs   []struct {
			ID, Status, Class, Tenant string
			Webhook                   string `json:"webhook_host"`
		}
		Letters []struct{ ID, Reason string } `json:"dead_letters"`
	}
	err := json.Unmarshal([]byte(r.good("list", "--json")), &list)
	assert.TrueNow(t, err == nil && list.Stored == 2 && len(list.Jobs) == 2 && len(list.Letters) == 1,
		"the list is %+v, %v, want Stored 2, len(Jobs) 2 and len(Letters) 1", list, err)
	if j := list.Jobs[0]; j.ID != "p1" || j.Status != "waiting" || j.Class != "std" || j.Tenant != "t1" ||
		j.Webhook != "hook.test" {
		t.Errorf("the first job is %+v, want ID p1, Status waiting, Class std, Tenant t1 and Webhook hook.test", j)
	}
	assert.Contains(t, "what is dead", r.good("list", "--json", "--status", "dead"), `"jobs":[]`, `"id":"d1"`)
	assert.Contains(t, "one job", r.good("show", "p1"), "waiting", `"key":"**********"`)
	if out := r.good("show", "d1", "--json"); out != `{"dead_letter":`+out[len(`{"dead_letter":`):] ||
		!strings.Contains(out, `"reason":"gave up after 3 attempts"`) {
		t.Errorf("one dead letter: %s, want %q and with %q", out, `{"dead_letter":`+out[len(`{"dead_letter":`):],
			`"reason":"gave up after 3 attempts"`)
	}
}

// TestJobs_PastDeadline: a job waits beyond its deadline until a server gets it or a client asks for it.
func TestJobs_PastDeadline(t *testing.T) {
	t.Parallel()
	r := newJobsRig(t)
	past := time.Now().Add(-time.Hour)
	for id, deadline := range map[string]time.Time{"late": past, "soon": time.Now().Add(time.Hour), "whenever": {}} {
		_, err := r.q.Accept(t.Context(), state.Job{
			ID: id, Kind: state.Prediction, Class: state.Normal, Attempts: 3, Body: []byte(`{}`), Deadline: deadline,
		}, []byte(`{}`), false)
		assert.NoError(t, err)
	}
	const want = "waiting, past its deadline"
	list := r.good("list")
	got := strings.Count(list, want)
	assert.True(t, got == 1, "got %q %d times, want 1:\n%s", want, got, list)
	show := r.good("show", "late")
	for _, part := range []string{want, past.UTC().Format("2006-01-02T15:04")} {
		assert.True(t, strings.Contains(show, part), "got no %q, want it:\n%s", part, show)
	}
}

func TestJobs_CancelRetryPurge(t *testing.T) {
	r := newJobsRig(t)
	r.accept("p1")
	assert.Equal(t, "cancel", r.good("cancel", "p1"), "canceled p1\n")
	s, err := r.q.Find(t.Context(), "p1", &jobqueue.Renderer{})
	assert.NoError(t, err)
	assert.Equal(t, "status", s.Status, state.Canceled)
	assert.Contains(t, "string(s.Prediction)", string(s.Prediction), `"status":"canceled"`)
	assert.Contains(t, "string(s.Prediction)", string(s.Prediction), `"key":"**********"`)
	r.letter("d1", "gave up")
	r.letter("d2", "gave up")
	r.letter("d3", "gave up")
	id := strings.TrimSpace(r.good("retry", "d1"))
	s, err = r.q.Find(t.Context(), id, &jobqueue.Renderer{})
	assert.True(t, err == nil && s.Status == state.Starting && s.Hook != nil,
		"the retry %q is %+v, %v, want Status starting and Hook non-nil", id, s, err)
	if out := r.good("list", "--class", "hi"); !strings.Contains(out, "\n"+id+" ") || strings.Contains(out, "\nd1 ") {
		t.Errorf("after the retry: %s, want it with %q and without %q", out, "\n"+id+" ", "\nd1 ")
	}
	assert.Equal(t, "purge", r.good("purge", "d2"), "removed 1 dead letter\n")
	assert.Equal(t, "purge --all", r.good("purge", "--all", "--json"), `{"purged":1}`+"\n")
}

func TestJobs_Apply(t *testing.T) {
	r := newJobsRig(t)
	out := r.good("apply", "--jobs-capacity", "5", "--ack-wait", "20s")
	for _, want := range []string{"max_msgs  100000  5", "the consumer hi-0", "ack_wait  30s     20s"} {
		assert.Contains(t, "out", out, want)
	}
	assert.Equal(t, "the same again", r.good("apply", "--jobs-capacity", "5"), "nothing to change\n")
	if _, err := store.Open(t.Context(), state.Connected(r.nc),
		state.Options{Model: "m", Server: "b", Bytes: 64 << 20, Capacity: 5, AckWait: 20 * time.Second}); err != nil {
		t.Error(err)
	}
}

func TestJobs_Refuses(t *testing.T) {
	t.Setenv("PINION_NATS", "")
	t.Setenv("PINION_MODEL", "")
	r := newJobsRig(t)
	r.accept("p1")
	at := []string{"--nats", r.url, "--model", "m"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"list"}, "--nats is missing"},
		{[]string{"show", "p1", "--nats", r.url}, "--model is missing"},
		{[]string{"list", "--status", "dead", "--nats", r.url}, "--model is missing"},
		{
			[]string{"list", "--nats", "http://u:" + natsPassword + "@h", "--model", "m"},
			"--nats: invalid NATS URL http://u:xxxxx@h: must be",
		},
		{[]string{"list", "--nats", r.url, "--model", "a b"}, `--model: invalid model name "a b"`},
		{
			[]string{"list", "--nats", r.url, "--model", "mm"},
			"the model mm has no job queue: these models have: m; did you mean \"m\"?",
		},
		{[]string{"list", "--nats", r.url, "--model", "other"}, "the model other has no job queue: these models have: m"},
		{
			[]string{"list", "--nats", "nats://u:wrong@" + strings.SplitAfter(r.url, "@")[1], "--model", "m"},
			"Authorization Violation",
		},
		{
			[]string{"list", "--nats", "nats://127.0.0.1:1", "--model", "m"},
			"NATS cannot be reached: connect to NATS at nats://127.0.0.1:1: ",
		},
		{[]string{"list", "--nats", "embed:" + t.TempDir(), "--model", "m"}, "no server runs with the job queue's folder"},
		{append([]string{"list", "--class", "urgent"}, at...), `"urgent": must be hi, std or lo`},
		{append([]string{"list", "--status", "done"}, at...), `"done": must be waiting, running or dead`},
		{append([]string{"list", "--limit", "-1"}, at...), "--limit -1: must be at least 0"},
		{append([]string{"show"}, at...), "pinion jobs show takes the id of one job"},
		{append([]string{"show", "unknown"}, at...), "unknown: no such job"},
		{append([]string{"cancel", "unknown"}, at...), "unknown: no such job"},
		{append([]string{"retry", "p1"}, at...), "p1: no dead letter"},
		{append([]string{"purge"}, at...), "takes the id of one dead letter, or --all"},
		{append([]string{"purge", "p1"}, at...), "p1: no dead letter"},
		{append([]string{"apply"}, at...), "nothing to apply"},
		{append([]string{"apply", "--ack-wait", "1s"}, at...), "1s: must be at least 15s"},
		{append([]string{"apply", "--jobs-bytes", "16MiB", "--lanes", "65"}, at...), "65: must be 1 to 64"},
		{[]string{"drop"}, `pinion jobs has no command "drop"`},
	} {
		if out, err := r.run(c.args...); err == nil || !strings.Contains(err.Error(), c.want) || out != "" {
			t.Errorf("pinion jobs %q: %q, %v; want %s", c.args, out, err, c.want)
		}
	}
}

// TestJobs_ListOfAllModels counts the jobs of each, by its own name.
func TestJobs_ListOfAllModels(t *testing.T) {
	t.Parallel()
	r := newJobsRig(t)
	r.accept("p1")
	const odd = "org/x.y"
	other, err := store.Open(t.Context(), state.Connected(r.nc), state.Options{
		Model: state.QueueName(odd), Title: odd, Server: "a", Bytes: 64 << 20, Lanes: 2,
	})
	assert.NoError(t, err)
	for id, tenant := range map[string]string{"q1": "t1", "q2": "t2", "q3": "t3"} {
		_, err := other.Accept(t.Context(), state.Job{
			ID: id, Kind: state.Prediction, Class: state.Low, Attempts: 3, Tenant: tenant, Body: []byte(`{}`),
		}, []byte(`{}`), false)
		assert.NoError(t, err)
	}
	var out string
	var list modelsView
	assert.Eventually(t, "NATS to count all jobs that wait", func() bool {
		out = assert.Must(r.run("list", "--nats", r.url, "--json"))(t)
		assert.NoError(t, json.Unmarshal([]byte(out), &list), out)
		assert.EqualNow(t, "models", len(list.Models), 2)
		return list.Models[0].Waiting+list.Models[1].Waiting == 4
	})
	for i, want := range []queueView{
		{Model: "m", Stream: "PINION_JOBS_m", Stored: 1, Waiting: 1, Capacity: 100_000},
		{Model: odd, Stream: "PINION_JOBS_" + state.QueueName(odd), Stored: 3, Waiting: 3, Capacity: 100_000},
	} {
		got := list.Models[i]
		at, err := time.Parse(time.RFC3339Nano, got.OldestWaiting)
		assert.True(t, err == nil && time.Since(at) <= time.Hour,
			"the oldest job of %s waits since %q, %v, want a time within the last hour", got.Model, got.OldestWaiting, err)
		got.OldestWaiting = ""
		assert.Equal(t, "the queue", got, want)
	}
	out, err = r.run("list", "--nats", r.url)
	assert.True(t, err == nil && strings.Contains(out, "\n"+odd+" "), "got the table %s, %v, want a line for %s", out, err, odd)
	out, err = r.run("list", "--nats", r.url, "--model", odd)
	assert.True(t, err == nil && strings.Contains(out, "jobs: 3 of"), "got the jobs %s, %v, want 3", out, err)
}
