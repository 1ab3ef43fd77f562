package queue

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// watched counts the messages of a subject at a NATS server.
func watched(t testing.TB, at *harness.NATS, subject string) func() int {
	t.Helper()
	nc := harness.JetStream(t, at).Conn()
	sub, err := nc.SubscribeSync(subject)
	if err == nil {
		err = nc.Flush()
	}
	assert.NoError(t, err)
	return func() int {
		t.Helper()
		n, _, err := sub.Pending()
		assert.NoError(t, err)
		return n
	}
}

// TestWaiting_EndComesWithItsNotice: a client that waits for the end of a short job costs its gateway no read of the
// state and no events.
func TestWaiting_EndComesWithItsNotice(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	dir := harness.NewFolder(t, "run.py", `
def run(text: str = "", n: int = 1) -> str:
    print("ran", len(text))
    return text * n
`)
	harness.StartMember(t, nats.URL, harness.Options{Model: "run.py:run", Dir: dir})
	g := harness.StartGateway(t, nats.URL)
	// its schema and the streams are looked for first
	harness.WantStatus(t, "the first job", g.Input(harness.Input{}), "succeeded")
	reads := watched(t, nats, "$JS.API.STREAM.MSG.GET.PINION_STATE_m")
	calls := watched(t, nats, "$JS.API.>")
	follows, notices := watched(t, nats, "pinion.attach.>"), watched(t, nats, "pinion.reply.m.>")
	for i := range 20 {
		text := fmt.Sprintf("é%d", i)
		a := g.Create(map[string]any{"input": harness.Input{"text": text, "n": 2}})
		harness.WantOutput(t, "a short job", a, text+text)
		assert.True(t, a.StartedAt != "" && a.CompletedAt >= a.StartedAt && strings.HasPrefix(a.Logs, "ran "),
			"a short job: got %s, want its times and logs", a)
	}
	assert.Eventually(t, "the notices are seen", func() bool { return notices() >= 20 })
	got := calls()
	assert.True(t, got != 0, "no request to JetStream was seen: the test is blind: got %d, want anything but 0", got)
	// A machine that halts for longer than a gateway waits for a notice may cost a read.
	r, f := reads(), follows()
	assert.True(t, r <= 5 && f <= 5, "20 short jobs: got %d reads of states and %d requests for events, want none", r, f)
	// More than a notice carries, and more than a message.
	for _, n := range []int{100_000, 3_000_000} {
		harness.WantOutput(t, "a large result", g.Create(map[string]any{"input": harness.Input{"text": "x", "n": n}}),
			strings.Repeat("x", n))
	}
}

// TestWaiting_LogsSoFar: a client that does not wait for the end gets what a job that runs for longer has written.
func TestWaiting_LogsSoFar(t *testing.T) {
	t.Parallel()
	nats, s := startMember(t)
	open := harness.MakeFIFO(t, s.Dir, "gate")
	g := harness.StartGateway(t, nats.URL)
	body := map[string]any{"input": harness.Input{"token": "p1", "gate": "gate"}}
	a := g.Do(http.MethodPut, "/predictions/p1", body, "Prefer", "wait=3")
	assert.True(t, a.Code == http.StatusAccepted && a.Status == "processing" && strings.Contains(a.Logs, "waiting p1"),
		"after three seconds: got %s with the logs %q, want it processing with what it logged", a, a.Logs)
	open()
	harness.WaitStatus(t, g.Server, "p1", "succeeded")
}

// TestWaiting_NoticesOfAnotherVersion: an empty notice, as older servers send, has the state read; one that nobody can
// read changes nothing.
func TestWaiting_NoticesOfAnotherVersion(t *testing.T) {
	t.Parallel()
	at, s := startMember(t)
	open := harness.MakeFIFO(t, s.Dir, "gate")
	g := harness.StartGateway(t, at.URL)
	nc := harness.JetStream(t, at).Conn()
	told := make(chan *nats.Msg, 16)
	_, err := nc.ChanSubscribe("pinion.reply.m.>", told)
	assert.NoError(t, err)
	assert.NoError(t, nc.Flush())
	answer := g.Begin("p1", harness.Input{"token": "p1", "gate": "gate"})
	subject := harness.Receive(t, told).Subject
	s.WaitLog("waiting p1")
	for _, notice := range []string{
		"", "x", "{", `{"v":1,"status":"succeeded"`, `{"v":99,"status":"succeeded","prediction":{}}`,
		`{"v":1,"status":"processing","prediction":{"output":"wrong"}}`, "begun", strings.Repeat("{", 30_000),
	} {
		assert.NoError(t, nc.Publish(subject, []byte(notice)))
	}
	assert.NoError(t, nc.Flush())
	open()
	a := harness.Receive(t, answer)
	harness.WantStatus(t, "the job", a, "succeeded")
	if text := a.Text(t); strings.Contains(text, "wrong") {
		t.Errorf(`got the output %q of a notice that is not an end, want no "wrong" in it`, text)
	}
}
