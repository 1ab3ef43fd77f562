package tests

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/harness"
)

// TestAStreamThroughAnotherServer: a client follows a job at a server that does not run it, from its first event to its
// last.
func TestAStreamThroughAnotherServer(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{Model: "tokens.py"})
	open := makeFIFO(t, a.Dir, "gate")
	in := input{"n": 200, "gate": "gate"}
	enqueue(t, a, "p1", in)
	becomes(t, a, "p1", "processing")
	b := member(t, nats.URL, harness.Options{Model: "tokens.py", Dir: a.Dir})
	var streams []<-chan string
	for _, s := range []*harness.Server{a, b} {
		streams = append(streams, followStream(t, s, "p1"))
	}
	open()
	for i, stream := range streams {
		text := harness.Receive(t, stream)
		if n := strings.Count(text, "event: output"); n != 200 || strings.Count(text, "event: completed") != 1 ||
			!strings.Contains(text, `"status":"succeeded"`) {
			t.Errorf("stream %d has %d outputs: %.600s", i, n, text)
		}
		at := -1
		for n := range 200 {
			next := strings.Index(text, fmt.Sprintf(`{"chunk":"token %d","index":%d}`, n, n))
			if next <= at {
				t.Fatalf("stream %d lacks token %d, or has it out of order: %.600s", i, n, text)
			}
			at = next
		}
	}
	after := b.Do(http.MethodPut, "/predictions/p1", map[string]any{"input": in}, "Accept", "text/event-stream")
	if n := strings.Count(string(after.Body), "event: output"); n > 200 ||
		!strings.Contains(string(after.Body), "event: completed") {
		t.Errorf("after the end: %s", after)
	}
}

// TestAttach_ShortJob: a client that attaches by a stream to a job that waits gets all events, however short the run
// is.
func TestAttach_ShortJob(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	dir := folder(t, "short.py", mixedModel+`            cog.current_scope().record_metric("items", i)
        print("done")
`)
	a := member(t, nats.URL, harness.Options{Model: "short.py:Runner", Dir: dir})
	g := startGateway(t, nats.URL)
	open := makeFIFO(t, a.Dir, "gate")
	running := a.Begin("runs", input{"gate": "gate"})
	becomes(t, a, "runs", "processing")
	enqueue(t, a, "short", input{})
	var streams []chan string
	for _, s := range []*harness.Server{a, g.Server} {
		becomes(t, s, "short", "starting")
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
		if strings.Count(text, "event: output") != 3 || strings.Count(text, "event: completed") != 1 {
			t.Errorf("stream %d: got %s, want 3 outputs", i, text)
		}
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
	if err != nil || first != "event: start\n" {
		t.Fatalf("%s begins with %q, %v", id, first, err)
	}
	text := make(chan string, 1)
	go func() {
		rest, _ := io.ReadAll(lines)
		text <- first + string(rest)
	}()
	return text
}

// TestASynchronousRequestOverflows: with all places taken it waits in the queue, and is answered as if it had not.
func TestASynchronousRequestOverflows(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{Args: []string{"--overflow"}})
	open := makeFIFO(t, a.Dir, "gate")
	running := a.Begin("runs", input{"gate": "gate"})
	becomes(t, a, "runs", "processing")
	waiting := a.Begin("waits", input{"token": "waits"})
	becomes(t, a, "waits", "starting")
	gone, leave := context.WithCancel(t.Context())
	left := make(chan harness.Answer, 1)
	go func() {
		left <- a.DoContext(gone, http.MethodPut, "/predictions/left", map[string]any{"input": input{"token": "left"}})
	}()
	becomes(t, a, "left", "starting")
	leave()
	harness.Receive(t, left)
	becomes(t, a, "left", "canceled")
	bounded := a.Create(map[string]any{"id": "later", "input": input{"token": "later"}}, "Prefer", "wait=1")
	wantCode(t, "Prefer: wait=1", bounded, http.StatusAccepted)
	wantStatus(t, "Prefer: wait=1", bounded, "starting")
	open()
	for _, answer := range []<-chan harness.Answer{running, waiting} {
		wantAnswer(t, "the answer", harness.Receive(t, answer), http.StatusOK, `"status":"succeeded"`)
	}
	becomes(t, a, "later", "succeeded")
	same(t, "the request of a client that left ran", times(t, a, "left"), 0)
}

// TestAnOverflowedRequestWaitsForItsTimeAtMost, but one that was answered 202 for as long as it takes.
func TestAnOverflowedRequestWaitsForItsTimeAtMost(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{Args: []string{"--overflow", "--queue-timeout", "1s"}})
	open := makeFIFO(t, a.Dir, "gate")
	running := a.Begin("runs", input{"gate": "gate"})
	becomes(t, a, "runs", "processing")
	accepted := a.Create(map[string]any{"id": "accepted", "input": input{"token": "accepted"}}, "Prefer", "wait=1")
	wantAnswer(t, "Prefer: wait=1", accepted, http.StatusAccepted, `"status":"starting"`)
	wantCode(t, "the late one", a.Input(input{"token": "late"}), http.StatusRequestTimeout)
	open()
	harness.Receive(t, running)
	becomes(t, a, "accepted", "succeeded")
	same(t, "it ran", times(t, a, "late"), 0)
}
