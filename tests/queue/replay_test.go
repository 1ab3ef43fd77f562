package queue

import (
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// put sends a PUT of an id.
func put(s *harness.Server, id, in string, headers ...string) harness.Answer {
	return s.Do(http.MethodPut, "/predictions/"+id, `{"input":`+in+`}`, headers...)
}

// TestReplayedPut_AnswersKeptResult of the same id and input, in each mode, and runs the model anew for another
// input, after a cancel, and for all without the flag.
func TestReplayedPut_AnswersKeptResult(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "mixed.py", mixedModel)
	s := harness.Ready(t, harness.Options{Model: "mixed.py:Runner", Dir: dir, Args: []string{"--replay-puts"}})
	const in, sameInput, other = `{"token":"p1","n":2}`, ` { "n":2,"token" : "p1" }`, `{"token":"p1","n":3}`
	first := put(s, "p1", in)
	harness.WantAnswer(t, "the first", first, http.StatusOK, `"output":["token 0","token 1"]`)
	for _, again := range []string{in, sameInput} {
		got := put(s, "p1", again)
		harness.WantCode(t, "again", got, http.StatusOK)
		assert.True(t, got.CompletedAt == first.CompletedAt, "got %s, want %s", got, first)
	}
	harness.WantAnswer(t, "again, asynchronously", put(s, "p1", in, "Prefer", "respond-async"), http.StatusAccepted,
		`"status":"succeeded"`)
	stream := string(put(s, "p1", in, "Accept", "text/event-stream").Body)
	assert.Equal(t, "outputs", strings.Count(stream, "event: output"), 2)
	assert.Contains(t, "stream", stream, first.CompletedAt)
	assert.Equal(t, "runs", harness.TimesRun(t, s, "p1"), 1)
	harness.WantAnswer(t, "another input", put(s, "p1", other), http.StatusOK, "token 2")
	assert.Equal(t, "runs", harness.TimesRun(t, s, "p1"), 2)
	s.Create(`{"id":"posted","input":{"token":"posted"}}`)
	harness.WantCode(t, "a PUT after a POST", put(s, "posted", `{"token":"posted"}`), http.StatusOK)
	assert.Equal(t, "runs", harness.TimesRun(t, s, "posted"), 1)

	answer := s.Begin("canceled", harness.Input{"token": "canceled", "sleep": true})
	harness.WaitStatus(t, s, "canceled", "processing")
	s.Cancel("canceled")
	harness.Receive(t, answer)
	harness.WantCode(t, "after a cancel", put(s, "canceled", `{"token":"canceled","sleep":true}`, "Prefer", "wait=0"),
		http.StatusAccepted)
	assert.Eventually(t, "it runs again", func() bool { return harness.TimesRun(t, s, "canceled") == 2 })

	plain := harness.Ready(t, harness.Options{Model: "mixed.py:Runner", Dir: dir})
	for range 2 {
		harness.WantCode(t, "without the flag", put(plain, "plain", `{"token":"plain"}`), http.StatusOK)
	}
	assert.Equal(t, "runs without the flag", harness.TimesRun(t, plain, "plain"), 2)
}

// TestReplayedPut_AsStreamWithoutOutputs: a kept prediction that yielded nothing, or failed before it did, is answered
// as a stream too.
func TestReplayedPut_AsStreamWithoutOutputs(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Model: "mixed.py:Runner", Dir: harness.NewFolder(t, "mixed.py", mixedModel), Args: []string{"--replay-puts"},
	})
	for id, test := range map[string]struct{ in, status string }{
		"nothing": {`{"token":"nothing","n":0}`, "succeeded"},
		"fails":   {`{"token":"fails","gate":"no such file"}`, "failed"},
	} {
		first := put(s, id, test.in)
		harness.WantStatus(t, "the first", first, test.status)
		for _, accept := range []string{"text/event-stream", "application/json, text/event-stream"} {
			stream := string(put(s, id, test.in, "Accept", accept).Body)
			assert.True(t, strings.Contains(stream, "event: completed") && strings.Contains(stream, first.CompletedAt),
				`%s, Accept: %s: got the stream %s, want it with "event: completed" and with %q`, id, accept, stream,
				first.CompletedAt)
		}
		assert.Equal(t, "runs of "+id, harness.TimesRun(t, s, id), 1)
	}
}

const notStreamingModel = `
def run(token: str) -> str:
    with open("ran.txt", "a") as file:
        file.write(token + "\n")
    if token == "fails":
        raise ValueError(token)
    return token
`

// TestReplayedPut_OfModelThatDoesNotStream: a client that also takes a stream gets the kept object; one that takes
// nothing else is refused.
func TestReplayedPut_OfModelThatDoesNotStream(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Model: "model.py:run", Dir: harness.NewFolder(t, "model.py", notStreamingModel), Args: []string{"--replay-puts"},
	})
	for _, id := range []string{"works", "fails"} {
		in := `{"token":"` + id + `"}`
		first := put(s, id, in)
		harness.WantCode(t, "the first", first, http.StatusOK)
		harness.WantAnswer(t, "again, an object or a stream",
			put(s, id, in, "Accept", "application/json, text/event-stream"), http.StatusOK, first.CompletedAt)
		harness.WantCode(t, "again, as a stream", put(s, id, in, "Accept", "text/event-stream"), http.StatusNotAcceptable)
		assert.Equal(t, "runs of "+id, harness.TimesRun(t, s, id), 1)
	}
}

// TestReplayedPut_OfDirectPredictionBesideQueue: what ran here without the queue does not run again from the queue.
func TestReplayedPut_OfDirectPredictionBesideQueue(t *testing.T) {
	t.Parallel()
	s := harness.StartMember(t, harness.StartNATS(t).URL, harness.Options{
		Model: "mixed.py:Runner", Dir: harness.NewFolder(t, "mixed.py", mixedModel), Args: []string{"--replay-puts"},
	})
	const in = `{"token":"direct"}`
	first := put(s, "direct", in)
	harness.WantCode(t, "the first", first, http.StatusOK)
	harness.WantAnswer(t, "again, asynchronously", put(s, "direct", in, "Prefer", "respond-async"), http.StatusAccepted,
		first.CompletedAt)
	assert.Equal(t, "runs", harness.TimesRun(t, s, "direct"), 1)

	answer := s.Begin("running", harness.Input{"token": "running", "sleep": true})
	harness.WaitStatus(t, s, "running", "processing")
	for _, prefer := range []string{"respond-async", "wait=0"} {
		harness.WantAnswer(t, "while it runs, with Prefer: "+prefer,
			put(s, "running", `{"token":"running","sleep":true}`, "Prefer", prefer), http.StatusAccepted, `"processing"`)
	}
	s.Cancel("running")
	harness.Receive(t, answer)
	assert.Equal(t, "runs", harness.TimesRun(t, s, "running"), 1)
}

// TestReplayedPut_WithQueue: every member answers a repeated PUT with the kept result, and refuses one with another
// input.
func TestReplayedPut_WithQueue(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := harness.StartMember(t, nats.URL, harness.Options{
		Model: "mixed.py:Runner", Dir: harness.NewFolder(t, "mixed.py", mixedModel), Args: []string{"--replay-puts"},
	})
	g := harness.StartGateway(t, nats.URL, "--replay-puts").Server
	const in = `{"token":"p1","n":2}`
	harness.WantCode(t, "the first", put(a, "p1", in, "Prefer", "respond-async"), http.StatusAccepted)
	first := harness.WaitStatus(t, g, "p1", "succeeded")
	for _, s := range []*harness.Server{a, g} {
		harness.WantAnswer(t, "again", put(s, "p1", in), http.StatusOK, first.CompletedAt)
		harness.WantAnswer(t, "again, asynchronously", put(s, "p1", in, "Prefer", "respond-async"), http.StatusAccepted,
			first.CompletedAt)
		stream := string(put(s, "p1", in, "Accept", "text/event-stream").Body)
		assert.Equal(t, "outputs", strings.Count(stream, "event: output"), 2)
		assert.Contains(t, "stream", stream, first.CompletedAt)
		for _, headers := range [][]string{nil, {"Prefer", "respond-async"}, {"Accept", "text/event-stream"}} {
			harness.WantAnswer(t, "another input", put(s, "p1", `{"token":"p1","n":3}`, headers...), http.StatusConflict,
				"another input")
		}
		posted := s.Create(`{"id":"p1","input":`+in+`}`, "Prefer", "respond-async")
		harness.WantAnswer(t, "a POST of a known id", posted, http.StatusConflict,
			"has ended, and the job queue keeps its result")
	}
	assert.Equal(t, "runs", harness.TimesRun(t, a, "p1"), 1)
}
