package tests

import (
	"bytes"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/tests/harness"
)

// gatewayProcess is a 'pinion gateway' of the model "m".
type gatewayProcess struct {
	*harness.Server
	cmd *exec.Cmd
}

// startGateway starts one. It has no Python.
func startGateway(t *testing.T, nats string, args ...string) gatewayProcess {
	t.Helper()
	return startGatewayIn(t, nil, nats, args...)
}

// startGatewayIn starts one by a command that becomes it, as harness.MemoryGroup makes one; nil: at once.
func startGatewayIn(t *testing.T, enter []string, nats string, args ...string) gatewayProcess {
	t.Helper()
	command := slices.Concat(enter,
		[]string{
			harness.Binary(t), "gateway", "--nats", nats, "--model", "m", "--ack-wait", "15s", "-p", "0", "--host",
			"127.0.0.1", "--log-format", "json",
		}, args)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{"PATH=/nowhere", "HOME=/nowhere", "TMPDIR=" + t.TempDir()}
	log := beside(t, "the gateway", cmd)
	var line harness.Line
	harness.Eventually(t, "the gateway listens", func() bool {
		var listens bool
		line, listens = log.Find("listening")
		return listens
	})
	return gatewayProcess{harness.At(line.Address), cmd}
}

// TestAGateway accepts while no server runs, and answers for what two servers run then.
func TestAGateway(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	g := startGateway(t, nats.URL)
	other := startGateway(t, nats.URL)
	enqueue(t, g.Server, "early", input{"token": "early"})
	becomes(t, g.Server, "early", "starting")
	enqueue(t, g.Server, "gone", input{"token": "gone"})
	wantCode(t, "cancel at another gateway", other.Cancel("gone"), http.StatusOK)
	a := member(t, nats.URL, harness.Options{})
	b := member(t, nats.URL, harness.Options{Dir: a.Dir})
	for _, gateway := range []gatewayProcess{g, other} {
		becomes(t, gateway.Server, "early", "succeeded")
		becomes(t, gateway.Server, "gone", "canceled")
	}
	if times(t, a, "early") != 1 || times(t, a, "gone") != 0 {
		t.Errorf("ran %d and %d times", times(t, a, "early"), times(t, a, "gone"))
	}
	becomes(t, b, "early", "succeeded")

	wantAnswer(t, "a synchronous request", g.Create(`{"input":{"token":"sync"}}`), http.StatusOK,
		`"status":"succeeded","output":"`)
	wantCode(t, "a known id", g.Create(`{"id":"early","input":{}}`, "Prefer", "respond-async"), http.StatusConflict)
	open := makeFIFO(t, a.Dir, "gate")
	wantCode(t, "PUT", g.Do(http.MethodPut, "/predictions/runs", `{"input":{"gate":"gate"}}`, "Prefer", "respond-async"),
		http.StatusAccepted)
	becomes(t, g.Server, "runs", "processing")
	open()
	becomes(t, g.Server, "runs", "succeeded")
	wantCode(t, "PUT", g.Do(http.MethodPut, "/predictions/sleeps", `{"input":{"do":"sleep"}}`, "Prefer", "respond-async"),
		http.StatusAccepted)
	becomes(t, g.Server, "sleeps", "processing")
	wantCode(t, "cancel a running one", other.Cancel("sleeps"), http.StatusOK)
	becomes(t, g.Server, "sleeps", "canceled")
	wantCode(t, "an unknown id", g.Do(http.MethodGet, "/predictions/unknown", nil), http.StatusNotFound)
}

// TestAGatewayChecksInputs by the schema that the last server wrote: what does not fit is refused as a server refuses
// it. Before the first server it accepts all, and that server checks.
func TestAGatewayChecksInputs(t *testing.T) {
	t.Parallel()
	at := harness.StartNATS(t)
	js := jetStream(t, at)
	g := startGateway(t, at.URL)
	accept := func(id, input string) harness.Answer {
		return g.Create(`{"id":"`+id+`","input":`+input+`}`, "Prefer", "respond-async")
	}
	wantCode(t, "before the first server", accept("early", `{"prompt":1}`), http.StatusAccepted)
	s := member(t, at.URL, harness.Options{Model: "page.py:Form"})
	becomes(t, g.Server, "early", "failed")
	harness.Eventually(t, "the gateway refuses what does not fit", func() bool {
		return accept(fmt.Sprint("late-", time.Now().UnixNano()), `{"prompt":1}`).Code == http.StatusUnprocessableEntity
	})
	want := s.Create(map[string]any{"input": map[string]any{"steps": 99}})
	same(t, "what the gateway says", accept("wrong", `{"steps":99}`).String(), want.String())
	wantCode(t, "it is known after all", g.Do(http.MethodGet, "/predictions/wrong", nil), http.StatusNotFound)
	for _, path := range []string{"/trainings", "/predictions"} { // the model has no training
		a := g.Do(http.MethodPost, path, `{"input":{"prompt":"","steps":0}}`)
		if here := s.Do(http.MethodPost, path,
			map[string]any{"input": map[string]any{"prompt": "", "steps": 0}}); a.Code != here.Code || a.Code < 400 {
			t.Errorf("%s: %s, but a server says %s", path, a, here)
		}
	}
	wantCode(t, "what fits", accept("good", `{"prompt":"a","token":"hidden-in-the-state"}`), http.StatusAccepted)
	becomes(t, g.Server, "good", "succeeded")

	s.Stop()
	wantCode(t, "without a server", accept("waits", `{"prompt":"a","token":"hidden-in-the-state"}`), http.StatusAccepted)
	if text := string(stateOf(g.Server, "waits").Body); !strings.Contains(text, `"token":"**********"`) ||
		strings.Contains(text, "hidden") {
		t.Errorf("its state is %s", text)
	}
	member(t, at.URL, harness.Options{Model: "tokens.py"})
	harness.Eventually(t, "the next server has written its schema", func() bool {
		states, err := js.Stream(t.Context(), "KV_pinion_state_m")
		if err != nil {
			return false
		}
		m, err := states.GetLastMsgForSubject(t.Context(), "$KV.pinion_state_m.schema")
		return err == nil && bytes.Contains(m.Data, []byte(`"gate"`))
	})
	// the gateway may know only the schema before
	wantCode(t, "what fits into the last schema", accept("new", `{"n":1}`), http.StatusAccepted)
}

// TestAStreamThroughAGateway gets the events of the server that runs it.
func TestAStreamThroughAGateway(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	g := startGateway(t, nats.URL)
	s := member(t, nats.URL, harness.Options{Model: "tokens.py"})
	open := makeFIFO(t, s.Dir, "gate")
	enqueue(t, g.Server, "p1", input{"n": 50, "gate": "gate"})
	becomes(t, g.Server, "p1", "processing")
	stream := followStream(t, g.Server, "p1")
	open()
	if text := harness.Receive(t, stream); strings.Count(text, "event: output") != 50 ||
		!strings.Contains(text, `"status":"succeeded"`) {
		t.Errorf("the stream is %.400s", text)
	}
	a := g.Create(`{"input":{"n":5}}`, "Accept", "text/event-stream")
	if a.Code != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") ||
		!strings.Contains(string(a.Body), `"output":["token 0","token 1","token 2","token 3","token 4"]`) {
		t.Errorf("a new stream: %v %.400s", a.Header, a)
	}
}

// TestAGatewayWithoutServersOrNATS: a synchronous request waits in vain; without NATS the gateway is not ready.
func TestAGatewayWithoutServersOrNATS(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	g := startGateway(t, nats.URL, "--queue-timeout", "1s")
	wantCode(t, "a synchronous request without a server", g.Create(`{"input":{}}`), http.StatusRequestTimeout)
	health := g.Do(http.MethodGet, "/health-check", nil)
	wantAnswer(t, "its health", health, http.StatusOK, `"status":"READY"`)
	wantAnswer(t, "its health", health, http.StatusOK, `"fleet":{"connected":true`)
	for _, path := range []string{"/readyz", "/livez", "/metrics"} {
		wantCode(t, path, g.Do(http.MethodGet, path, nil), http.StatusOK)
	}
	nats.Kill()
	harness.Eventually(t, "it is not ready", func() bool {
		a := g.Do(http.MethodGet, "/readyz", nil)
		return a.Code == http.StatusServiceUnavailable &&
			strings.HasPrefix(string(a.Body), `{"detail":"The job queue takes no requests now: NATS cannot be reached; `)
	})
	if a := g.Create(`{"input":{}}`, "Prefer", "respond-async"); a.Code != http.StatusServiceUnavailable ||
		a.Header.Get("Retry-After") == "" {
		t.Errorf("without NATS: %s", a)
	}
	wantCode(t, "/livez without NATS", g.Do(http.MethodGet, "/livez", nil), http.StatusOK)
	nats.Start()
	allServe(t, g.Server)
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestAGatewayIsLost: the jobs whose clients waited there are canceled, those that wait as well as those that run.
// Accepted ones go on.
func TestAGatewayIsLost(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	s := member(t, nats.URL, harness.Options{})
	g := startGateway(t, nats.URL)
	open := makeFIFO(t, s.Dir, "gate")
	waits := func(id string, in input) {
		go g.Do(http.MethodPut, "/predictions/"+id, map[string]any{"input": in})
	}
	waits("runs", input{"do": "sleep", "token": "runs"})
	becomes(t, s, "runs", "processing")
	waits("waits", input{"token": "waits"})
	becomes(t, s, "waits", "starting")
	wantCode(t, "accept", g.Do(http.MethodPut, "/predictions/accepted", `{"input":{"gate":"gate"}}`, "Prefer",
		"respond-async"), http.StatusAccepted)
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	becomes(t, s, "runs", "canceled")
	becomes(t, s, "waits", "canceled")
	becomes(t, s, "accepted", "processing")
	open()
	becomes(t, s, "accepted", "succeeded")
	if times(t, s, "runs") != 1 || times(t, s, "waits") != 0 {
		t.Errorf("they ran %d and %d times", times(t, s, "runs"), times(t, s, "waits"))
	}
}

func TestSettingsOfAGatewayThatAreRefused(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--nats is missing":                {"--model", "m"},
		"--model is missing":               {"--nats", "nats://127.0.0.1:1"},
		"the queue of one server":          {"--nats", "embed", "--model", "m"},
		`the model's name is "a.b"`:        {"--nats", "nats://127.0.0.1:1", "--model", "a.b"},
		"--queue-timeout and --grace":      {"--nats", "nats://127.0.0.1:1", "--model", "m", "--queue-timeout", "0s"},
		"--ack-wait 1s: must be at least ": {"--nats", "nats://127.0.0.1:1", "--model", "m", "--ack-wait", "1s"},
		"takes no argument, not dir":       {"dir", "--nats", "nats://127.0.0.1:1", "--model", "m"},
	} {
		wantText(t, fmt.Sprintf("%q", args), (cli{}).bad(t, 2, append([]string{"gateway"}, args...)...), want)
	}
}

func TestGateway_CountsWebhooks(t *testing.T) {
	t.Parallel()
	g := startGateway(t, harness.StartNATS(t).URL)
	hooks := newHookReceiver(t)
	body := map[string]any{"id": "a", "input": input{}, "webhook": hooks.URL}
	wantCode(t, "the prediction", g.Create(body, "Prefer", "respond-async"), http.StatusAccepted)
	wantCode(t, "its cancel", g.Cancel("a"), http.StatusOK)
	harness.Eventually(t, "the delivery is counted", func() bool {
		page := string(g.Do(http.MethodGet, "/metrics", nil).Body)
		return strings.Contains(page, `pinion_webhook_deliveries_total{event="completed",outcome="delivered"} 1`)
	})
}
