package queue

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestFollow_StreamThroughAnotherServer: a client follows a job at a server that does not run it, from its first event
// to its last.
func TestFollow_StreamThroughAnotherServer(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := harness.StartMember(t, nats.URL, harness.Options{Model: "tokens.py"})
	open := harness.MakeFIFO(t, a.Dir, "gate")
	in := harness.Input{"n": 200, "gate": "gate"}
	harness.Enqueue(t, a, "p1", in)
	harness.WaitStatus(t, a, "p1", "processing")
	b := harness.StartMember(t, nats.URL, harness.Options{Model: "tokens.py", Dir: a.Dir})
	var streams []<-chan string
	for _, s := range []*harness.Server{a, b} {
		streams = append(streams, followStream(t, s, "p1"))
	}
	open()
	for i, stream := range streams {
		text := harness.Receive(t, stream)
		n := strings.Count(text, "event: output")
		assert.True(t, n == 200 && strings.Count(text, "event: completed") == 1 &&
			strings.Contains(text, `"status":"succeeded"`),
			"stream %d has %d outputs: %.600s, want n 200, Count 1 and text with %q", i, n, text, `"status":"succeeded"`)
		at := -1
		for n := range 200 {
			next := strings.Index(text, fmt.Sprintf(`{"chunk":"token %d","index":%d}`, n, n))
			assert.TrueNow(t, next > at,
				"stream %d lacks token %d, or has it out of order: %.600s: got %d, want more than %d", i, n, text, next, at)
			at = next
		}
	}
	after := b.Do(http.MethodPut, "/predictions/p1", map[string]any{"input": in}, "Accept", "text/event-stream")
	assert.True(t, strings.Count(string(after.Body), "event: output") <= 200 &&
		strings.Contains(string(after.Body), "event: completed"),
		`after the end: %s, want n at most 200 and Body with "event: completed"`, after)
}

// TestAttach_ShortJob: a client that attaches by a stream to a job that waits gets all events, however short the run
// is.
func TestAttach_ShortJob(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	dir := harness.NewFolder(t, "short.py", mixedModel+`            cog.current_scope().record_metric("items", i)
        print("done")
`)
	a := harness.StartMember(t, nats.URL, harness.Options{Model: "short.py:Runner", Dir: dir})
	g := harness.StartGateway(t, nats.URL)
	open := harness.MakeFIFO(t, a.Dir, "gate")
	running := a.Begin("runs", harness.Input{"gate": "gate"})
	harness.WaitStatus(t, a, "runs", "processing")
	harness.Enqueue(t, a, "short", harness.Input{})
	var streams []chan string
	for _, s := range []*harness.Server{a, g.Server} {
		harness.WaitStatus(t, s, "short", "starting")
		stream := make(chan string, 1)
		streams = append(streams, stream)
		go func() {
			stream <- string(s.Do(http.MethodPut, "/predictions/short", `{"input":{}}`, "Accept", "text/event-stream").Body)
		}()
	}
	open()
	harness.Receive(t, running)
	for i, stream := range streams {
		text := harness.Receive(t, stream)
		assert.True(t, strings.Count(text, "event: output") == 3 && strings.Count(text, "event: completed") == 1,
			"stream %d: got %s, want 3 outputs", i, text)
		for _, want := range []string{
			`{"chunk":"token 2","index":2}`, `{"source":"stdout","data":"done\n"}`,
			`"name":"items","value":2`,
		} {
			if at := strings.Index(text, want); at < 0 || at > strings.Index(text, "event: completed") {
				t.Errorf("stream %d: got %s, want %s before the end", i, text, want)
			}
		}
	}
}

// followStream follows a job from its start on, and returns what comes until the end. The job has begun.
func followStream(t testing.TB, s *harness.Server, id string) <-chan string {
	t.Helper()
	lines := bufio.NewReader(s.Open(t, http.MethodPut, "/predictions/"+id, `{"input":{}}`, "Accept",
		"text/event-stream").Body)
	first, err := lines.ReadString('\n')
	assert.TrueNow(t, err == nil && first == "event: start\n",
		"%s begins with %q, %v, want %q", id, first, err, "event: start\n")
	text := make(chan string, 1)
	go func() {
		rest, _ := io.ReadAll(lines)
		text <- first + string(rest)
	}()
	return text
}

// TestFollow_SynchronousRequestOverflows: with all places taken it waits in the queue, and is answered as if it had
// not.
func TestFollow_SynchronousRequestOverflows(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := harness.StartMember(t, nats.URL, harness.Options{Args: []string{"--overflow"}})
	open := harness.MakeFIFO(t, a.Dir, "gate")
	running := a.Begin("runs", harness.Input{"gate": "gate"})
	harness.WaitStatus(t, a, "runs", "processing")
	waiting := a.Begin("waits", harness.Input{"token": "waits"})
	harness.WaitStatus(t, a, "waits", "starting")
	gone, leave := context.WithCancel(t.Context())
	left := make(chan harness.Answer, 1)
	go func() {
		left <- a.DoContext(gone, http.MethodPut, "/predictions/left",
			map[string]any{"input": harness.Input{"token": "left"}})
	}()
	harness.WaitStatus(t, a, "left", "starting")
	leave()
	harness.Receive(t, left)
	harness.WaitStatus(t, a, "left", "canceled")
	bounded := a.Create(map[string]any{"id": "later", "input": harness.Input{"token": "later"}}, "Prefer", "wait=1")
	harness.WantCode(t, "Prefer: wait=1", bounded, http.StatusAccepted)
	harness.WantStatus(t, "Prefer: wait=1", bounded, "starting")
	open()
	for _, answer := range []<-chan harness.Answer{running, waiting} {
		harness.WantAnswer(t, "the answer", harness.Receive(t, answer), http.StatusOK, `"status":"succeeded"`)
	}
	harness.WaitStatus(t, a, "later", "succeeded")
	assert.Equal(t, "the request of a client that left ran", harness.TimesRun(t, a, "left"), 0)
}

// TestFollow_OverflowedRequestWaitsForItsTimeAtMost, but one that was answered 202 for as long as it takes.
func TestFollow_OverflowedRequestWaitsForItsTimeAtMost(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := harness.StartMember(t, nats.URL, harness.Options{Args: []string{"--overflow", "--queue-timeout", "1s"}})
	open := harness.MakeFIFO(t, a.Dir, "gate")
	running := a.Begin("runs", harness.Input{"gate": "gate"})
	harness.WaitStatus(t, a, "runs", "processing")
	accepted := a.Create(map[string]any{"id": "accepted", "input": harness.Input{"token": "accepted"}}, "Prefer", "wait=1")
	harness.WantAnswer(t, "Prefer: wait=1", accepted, http.StatusAccepted, `"status":"starting"`)
	harness.WantCode(t, "the late one", a.Input(harness.Input{"token": "late"}), http.StatusRequestTimeout)
	open()
	harness.Receive(t, running)
	harness.WaitStatus(t, a, "accepted", "succeeded")
	assert.Equal(t, "it ran", harness.TimesRun(t, a, "late"), 0)
}
