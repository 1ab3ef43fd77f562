package queue

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestGateway_AcceptsWithoutServer accepts while no server runs, and answers for what two servers run then.
func TestGateway_AcceptsWithoutServer(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	g := harness.StartGateway(t, nats.URL)
	other := harness.StartGateway(t, nats.URL)
	harness.Enqueue(t, g.Server, "early", harness.Input{"token": "early"})
	harness.WaitStatus(t, g.Server, "early", "starting")
	harness.Enqueue(t, g.Server, "gone", harness.Input{"token": "gone"})
	harness.WantCode(t, "cancel at another gateway", other.Cancel("gone"), http.StatusOK)
	a := harness.StartMember(t, nats.URL, harness.Options{})
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	for _, gateway := range []harness.Gateway{g, other} {
		harness.WaitStatus(t, gateway.Server, "early", "succeeded")
		harness.WaitStatus(t, gateway.Server, "gone", "canceled")
	}
	assert.Equal(t, "runs of early", harness.TimesRun(t, a, "early"), 1)
	assert.Equal(t, "runs of gone", harness.TimesRun(t, a, "gone"), 0)
	harness.WaitStatus(t, b, "early", "succeeded")

	harness.WantAnswer(t, "a synchronous request", g.Create(`{"input":{"token":"sync"}}`), http.StatusOK,
		`"status":"succeeded","output":"`)
	harness.WantCode(t, "a known id", g.Create(`{"id":"early","input":{}}`, "Prefer", "respond-async"),
		http.StatusConflict)
	open := harness.MakeFIFO(t, a.Dir, "gate")
	harness.WantCode(t, "PUT", g.Do(http.MethodPut, "/predictions/runs", `{"input":{"gate":"gate"}}`, "Prefer",
		"respond-async"),
		http.StatusAccepted)
	harness.WaitStatus(t, g.Server, "runs", "processing")
	open()
	harness.WaitStatus(t, g.Server, "runs", "succeeded")
	harness.WantCode(t, "PUT", g.Do(http.MethodPut, "/predictions/sleeps", `{"input":{"do":"sleep"}}`, "Prefer",
		"respond-async"),
		http.StatusAccepted)
	harness.WaitStatus(t, g.Server, "sleeps", "processing")
	harness.WantCode(t, "cancel a running one", other.Cancel("sleeps"), http.StatusOK)
	harness.WaitStatus(t, g.Server, "sleeps", "canceled")
	harness.WantCode(t, "an unknown id", g.Do(http.MethodGet, "/predictions/unknown", nil), http.StatusNotFound)
}

// TestGateway_ChecksInputs by the schema that the last server wrote: what does not fit is refused as a server refuses
// it. Before the first server it accepts all, and that server checks.
func TestGateway_ChecksInputs(t *testing.T) {
	t.Parallel()
	at := harness.StartNATS(t)
	js := harness.JetStream(t, at)
	g := harness.StartGateway(t, at.URL)
	accept := func(id, input string) harness.Answer {
		return g.Create(`{"id":"`+id+`","input":`+input+`}`, "Prefer", "respond-async")
	}
	harness.WantCode(t, "before the first server", accept("early", `{"prompt":1}`), http.StatusAccepted)
	s := harness.StartMember(t, at.URL, harness.Options{Model: "page.py:Form"})
	harness.WaitStatus(t, g.Server, "early", "failed")
	assert.Eventually(t, "the gateway refuses what does not fit", func() bool {
		return accept(fmt.Sprint("late-", time.Now().UnixNano()), `{"prompt":1}`).Code == http.StatusUnprocessableEntity
	})
	want := s.Create(map[string]any{"input": map[string]any{"steps": 99}})
	assert.Equal(t, "what the gateway says", accept("wrong", `{"steps":99}`).String(), want.String())
	harness.WantCode(t, "it is known after all", g.Do(http.MethodGet, "/predictions/wrong", nil), http.StatusNotFound)
	for _, path := range []string{"/trainings", "/predictions"} { // the model has no training
		a := g.Do(http.MethodPost, path, `{"input":{"prompt":"","steps":0}}`)
		here := s.Do(http.MethodPost, path, map[string]any{"input": map[string]any{"prompt": "", "steps": 0}})
		assert.True(t, a.Code == here.Code && a.Code >= 400,
			"%s: %s, but a server says %s, want Code %d and at least 400", path, a, here, here.Code)
	}
	harness.WantCode(t, "what fits", accept("good", `{"prompt":"a","token":"hidden-in-the-state"}`), http.StatusAccepted)
	harness.WaitStatus(t, g.Server, "good", "succeeded")

	s.Stop()
	harness.WantCode(t, "without a server", accept("waits", `{"prompt":"a","token":"hidden-in-the-state"}`),
		http.StatusAccepted)
	text := string(harness.StateOf(g.Server, "waits").Body)
	assert.True(t, strings.Contains(text, `"token":"**********"`) && !strings.Contains(text, "hidden"),
		`its state is %s, want it with %q and without "hidden"`, text, `"token":"**********"`)
	harness.StartMember(t, at.URL, harness.Options{Model: "tokens.py"})
	assert.Eventually(t, "the next server has written its schema", func() bool {
		states, err := js.Stream(t.Context(), "KV_pinion_state_m")
		if err != nil {
			return false
		}
		m, err := states.GetLastMsgForSubject(t.Context(), "$KV.pinion_state_m.schema")
		return err == nil && bytes.Contains(m.Data, []byte(`"gate"`))
	})
	// the gateway may know only the schema before
	harness.WantCode(t, "what fits into the last schema", accept("new", `{"n":1}`), http.StatusAccepted)
}

// TestGateway_StreamThroughGateway gets the events of the server that runs it.
func TestGateway_StreamThroughGateway(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	g := harness.StartGateway(t, nats.URL)
	s := harness.StartMember(t, nats.URL, harness.Options{Model: "tokens.py"})
	open := harness.MakeFIFO(t, s.Dir, "gate")
	harness.Enqueue(t, g.Server, "p1", harness.Input{"n": 50, "gate": "gate"})
	harness.WaitStatus(t, g.Server, "p1", "processing")
	stream := followStream(t, g.Server, "p1")
	open()
	text := harness.Receive(t, stream)
	assert.True(t, strings.Count(text, "event: output") == 50 && strings.Contains(text, `"status":"succeeded"`),
		"the stream is %.400s, want Count 50 and text with %q", text, `"status":"succeeded"`)
	a := g.Create(`{"input":{"n":5}}`, "Accept", "text/event-stream")
	assert.True(t, a.Code == http.StatusOK && strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") &&
		strings.Contains(string(a.Body), `"output":["token 0","token 1","token 2","token 3","token 4"]`),
		`a new stream: %v %.400s, want Code 200, Content-Type starting with "text/event-stream" and Body with %q`, a.Header,
		a, `"output":["token 0","token 1","token 2","token 3","token 4"]`)
}

// TestGateway_WithoutServersOrNATS: a synchronous request waits in vain; without NATS the gateway is not ready.
func TestGateway_WithoutServersOrNATS(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	g := harness.StartGateway(t, nats.URL, "--queue-timeout", "1s")
	harness.WantCode(t, "a synchronous request without a server", g.Create(`{"input":{}}`), http.StatusRequestTimeout)
	health := g.Do(http.MethodGet, "/health-check", nil)
	harness.WantAnswer(t, "its health", health, http.StatusOK, `"status":"READY"`)
	harness.WantAnswer(t, "its health", health, http.StatusOK, `"fleet":{"connected":true`)
	for _, path := range []string{"/readyz", "/livez", "/metrics"} {
		harness.WantCode(t, path, g.Do(http.MethodGet, path, nil), http.StatusOK)
	}
	nats.Kill()
	assert.Eventually(t, "it is not ready", func() bool {
		a := g.Do(http.MethodGet, "/readyz", nil)
		return a.Code == http.StatusServiceUnavailable &&
			strings.HasPrefix(string(a.Body), `{"detail":"The job queue takes no requests now: NATS cannot be reached; `)
	})
	a := g.Create(`{"input":{}}`, "Prefer", "respond-async")
	assert.True(t, a.Code == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != "",
		"without NATS: %s, want Code 503 and Retry-After non-empty", a)
	harness.WantCode(t, "/livez without NATS", g.Do(http.MethodGet, "/livez", nil), http.StatusOK)
	nats.Start()
	harness.WaitModels(t, g.Server)
	assert.NoError(t, g.Cmd.Process.Signal(syscall.SIGTERM))
	err := g.Cmd.Wait()
	assert.True(t, err == nil, "it: got %v, want no error", err)
}

// TestGateway_ServerOfSynchronousJobIsLost: once another server gets the job its client's time in the queue has passed.
// That is no failure of the model, and the time until then is not that of a run.
func TestGateway_ServerOfSynchronousJobIsLost(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	g := harness.StartGateway(t, nats.URL, "--queue-timeout", "10s")
	answer := make(chan harness.Answer, 1)
	go func() {
		answer <- g.Do(http.MethodPut, "/predictions/p1", map[string]any{"input": harness.Input{"do": "sleep"}})
	}()
	harness.WaitStatus(t, a, "p1", "processing")
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	a.Kill()
	harness.WantCode(t, "the client's answer", harness.Receive(t, answer), http.StatusRequestTimeout)
	state := harness.StateOf(b, "p1")
	assert.True(t, state.Status == "failed" && strings.Contains(string(state.Body), `"metrics":{"predict_time":0}`),
		"the job: %s, want it failed, with a predict_time of 0", state)
}

// TestGateway_IsLost: the jobs whose clients waited there are canceled, those that wait as well as those that run.
// Accepted ones go on.
func TestGateway_IsLost(t *testing.T) {
	t.Parallel()
	nats, s := startMember(t)
	g := harness.StartGateway(t, nats.URL)
	open := harness.MakeFIFO(t, s.Dir, "gate")
	waits := func(id string, in harness.Input) {
		go g.Do(http.MethodPut, "/predictions/"+id, map[string]any{"input": in})
	}
	waits("runs", harness.Input{"do": "sleep", "token": "runs"})
	harness.WaitStatus(t, s, "runs", "processing")
	waits("waits", harness.Input{"token": "waits"})
	harness.WaitStatus(t, s, "waits", "starting")
	harness.WantCode(t, "accept", g.Do(http.MethodPut, "/predictions/accepted", `{"input":{"gate":"gate"}}`, "Prefer",
		"respond-async"), http.StatusAccepted)
	assert.NoError(t, g.Cmd.Process.Kill())
	harness.WaitStatus(t, s, "runs", "canceled")
	harness.WaitStatus(t, s, "waits", "canceled")
	harness.WaitStatus(t, s, "accepted", "processing")
	open()
	harness.WaitStatus(t, s, "accepted", "succeeded")
	assert.Equal(t, "runs of runs", harness.TimesRun(t, s, "runs"), 1)
	assert.Equal(t, "runs of waits", harness.TimesRun(t, s, "waits"), 0)
}

func TestGateway_SettingsOfGatewayThatAreRefused(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--nats is missing":                            {"--model", "m"},
		"--model m and --models a,b: give one of them": {"--nats", "nats://127.0.0.1:1", "--model", "m", "--models", "a,b"},
		"--models: a is given twice":                   {"--nats", "nats://127.0.0.1:1", "--models", "a, a"},
		`--models: invalid model name "a b"`:           {"--nats", "nats://127.0.0.1:1", "--models", "a b"},
		`--protocols "openia": must be oip, openai`:    {"--nats", "nats://127.0.0.1:1", "--model", "m", "--protocols", "openia"},
		"a gateway needs a NATS server":                {"--nats", "embed", "--model", "m"},
		`invalid model name "a b"`:                     {"--nats", "nats://127.0.0.1:1", "--model", "a b"},
		"--queue-timeout 0: must be more than 0":       {"--nats", "nats://127.0.0.1:1", "--model", "m", "--queue-timeout", "0s"},
		"--ack-wait 1s: must be at least ":             {"--nats", "nats://127.0.0.1:1", "--model", "m", "--ack-wait", "1s"},
		"takes no argument, not dir":                   {"dir", "--nats", "nats://127.0.0.1:1", "--model", "m"},
	} {
		assert.Contains(t, fmt.Sprintf("%q", args), (harness.CLI{}).Bad(t, 2, append([]string{"gateway"}, args...)...), want)
	}
}

func TestGateway_CountsWebhooks(t *testing.T) {
	t.Parallel()
	g := harness.StartGateway(t, harness.StartNATS(t).URL)
	hooks := harness.NewHookReceiver(t)
	body := map[string]any{"id": "a", "input": harness.Input{}, "webhook": hooks.URL}
	harness.WantCode(t, "the prediction", g.Create(body, "Prefer", "respond-async"), http.StatusAccepted)
	harness.WantCode(t, "its cancel", g.Cancel("a"), http.StatusOK)
	assert.Eventually(t, "the delivery is counted", func() bool {
		page := string(g.Do(http.MethodGet, "/metrics", nil).Body)
		return strings.Contains(page, `pinion_webhook_deliveries_total{event="completed",outcome="delivered"} 1`)
	})
}
