package tests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/harness"
)

// A prediction that a client waits for at its server is no job. While it runs, all members answer for it.

// TestADirectPredictionIsFoundAnywhere by GET, and canceled anywhere. When it has ended, its own server alone knows it.
func TestADirectPredictionIsFoundAnywhere(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{})
	b := member(t, nats.URL, harness.Options{Dir: a.Dir})
	g := startGateway(t, nats.URL)
	others := []*harness.Server{b, g.Server}
	open := makeFIFO(t, a.Dir, "gate")
	large := strings.Repeat("x", 1<<20) // no message of NATS can carry it
	running := a.Begin("p1", input{"gate": "gate", "token": large})
	becomes(t, a, "p1", "processing")
	for _, s := range others {
		if got := stateOf(s, "p1"); got.Code != http.StatusOK || got.Status != "processing" ||
			!strings.Contains(string(got.Body), large) {
			t.Errorf("GET at another member: %s", got)
		}
	}
	open()
	wantAnswer(t, "the answer", harness.Receive(t, running), http.StatusOK, `"status":"succeeded"`)
	for i, s := range others {
		wantCode(t, "GET of an ended one", stateOf(s, "p1"), http.StatusNotFound)
		id := []string{"at-b", "at-g"}[i]
		sleeping := a.Begin(id, input{"do": "sleep"})
		becomes(t, a, id, "processing")
		wantCode(t, "cancel at another member", s.Cancel(id), http.StatusOK)
		wantStatus(t, "after the cancel it", harness.Receive(t, sleeping), "canceled")
		wantCode(t, "cancel an ended one", s.Cancel(id), http.StatusNotFound)
	}
	if got := b.Do(http.MethodPut, "/predictions/p1",
		map[string]any{"input": input{"token": "again"}}); got.Code != http.StatusOK || times(t, a, "again") != 1 {
		t.Errorf("elsewhere the id is free: %s", got)
	}
}

// TestADirectStreamIsFollowedAnywhere, from its first event to its last.
func TestADirectStreamIsFollowedAnywhere(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{Model: "tokens.py"})
	b := member(t, nats.URL, harness.Options{Model: "tokens.py", Dir: a.Dir})
	g := startGateway(t, nats.URL)
	const n = 200
	open := makeFIFO(t, a.Dir, "gate")
	first := make(chan harness.Answer, 1)
	go func() {
		first <- a.Do(http.MethodPut, "/predictions/p1", map[string]any{"input": input{"n": n, "gate": "gate"}}, "Accept",
			"text/event-stream")
	}()
	becomes(t, a, "p1", "processing")
	var streams []<-chan string
	for _, s := range []*harness.Server{b, g.Server} {
		streams = append(streams, followStream(t, s, "p1"))
	}
	open()
	own := harness.Receive(t, first)
	for i, stream := range streams {
		text := harness.Receive(t, stream)
		same(t, fmt.Sprintf("outputs of stream %d", i), strings.Count(text, "event: output"), n)
		for _, part := range []string{`"data":"begun\n"`, "event: completed", `"status":"succeeded"`, `"token 199"]`} {
			if !strings.Contains(text, part) || !strings.Contains(string(own.Body), part) {
				t.Errorf("stream %d, or the first client's, lacks %s; it ends with %s", i, part, text[max(0, len(text)-300):])
			}
		}
	}
}
