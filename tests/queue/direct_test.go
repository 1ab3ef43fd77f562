package queue

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// A prediction that a client waits for at its server is no job. While it runs, all members answer for it.

// TestDirect_PredictionIsFoundAnywhere by GET, and canceled anywhere. When it has ended, its own server alone knows it.
func TestDirect_PredictionIsFoundAnywhere(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	g := harness.StartGateway(t, nats.URL)
	others := []*harness.Server{b, g.Server}
	open := harness.MakeFIFO(t, a.Dir, "gate")
	large := strings.Repeat("x", 1<<20) // no message of NATS can carry it
	running := a.Begin("p1", harness.Input{"gate": "gate", "token": large})
	harness.WaitStatus(t, a, "p1", "processing")
	for _, s := range others {
		got := harness.StateOf(s, "p1")
		assert.True(t, got.Code == http.StatusOK && got.Status == "processing" && strings.Contains(string(got.Body), large),
			"GET at another member: %s, want Code 200, Status processing and Body with %q", got, large)
	}
	open()
	harness.WantAnswer(t, "the answer", harness.Receive(t, running), http.StatusOK, `"status":"succeeded"`)
	for i, s := range others {
		harness.WantCode(t, "GET of an ended one", harness.StateOf(s, "p1"), http.StatusNotFound)
		id := []string{"at-b", "at-g"}[i]
		sleeping := a.Begin(id, harness.Input{"do": "sleep"})
		harness.WaitStatus(t, a, id, "processing")
		harness.WantCode(t, "cancel at another member", s.Cancel(id), http.StatusOK)
		harness.WantStatus(t, "after the cancel it", harness.Receive(t, sleeping), "canceled")
		harness.WantCode(t, "cancel an ended one", s.Cancel(id), http.StatusNotFound)
	}
	got := b.Do(http.MethodPut, "/predictions/p1", map[string]any{"input": harness.Input{"token": "again"}})
	assert.True(t, got.Code == http.StatusOK && harness.TimesRun(t, a, "again") == 1,
		"elsewhere the id is free: %s, want Code 200 and TimesRun 1", got)
}

// TestDirect_StreamIsFollowedAnywhere, from its first event to its last.
func TestDirect_StreamIsFollowedAnywhere(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := harness.StartMember(t, nats.URL, harness.Options{Model: "tokens.py"})
	b := harness.StartMember(t, nats.URL, harness.Options{Model: "tokens.py", Dir: a.Dir})
	g := harness.StartGateway(t, nats.URL)
	const n = 200
	open := harness.MakeFIFO(t, a.Dir, "gate")
	first := make(chan harness.Answer, 1)
	go func() {
		first <- a.Do(http.MethodPut, "/predictions/p1", map[string]any{"input": harness.Input{"n": n, "gate": "gate"}},
			"Accept",
			"text/event-stream")
	}()
	harness.WaitStatus(t, a, "p1", "processing")
	var streams []<-chan string
	for _, s := range []*harness.Server{b, g.Server} {
		streams = append(streams, followStream(t, s, "p1"))
	}
	open()
	own := harness.Receive(t, first)
	for i, stream := range streams {
		text := harness.Receive(t, stream)
		assert.Equal(t, fmt.Sprintf("outputs of stream %d", i), strings.Count(text, "event: output"), n)
		for _, part := range []string{`"data":"begun\n"`, "event: completed", `"status":"succeeded"`, `"token 199"]`} {
			assert.True(t, strings.Contains(text, part) && strings.Contains(string(own.Body), part),
				"stream %d, or the first client's, lacks %s, want it in both; it ends with %s", i, part,
				text[max(0, len(text)-300):])
		}
	}
}
