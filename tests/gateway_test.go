package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pinion/tests/harness"
)

// gatewayProcess is a 'pinion gateway' of the model "m".
type gatewayProcess struct {
	t       *testing.T
	address string
	cmd     *exec.Cmd
	says    *lockedBuffer
}

// lockedBuffer is a buffer of a process that still writes.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// startGateway starts one. It has no Python.
func startGateway(t *testing.T, nats string, args ...string) *gatewayProcess {
	t.Helper()
	return startGatewayIn(t, nil, nats, args...)
}

// startGatewayIn starts one by a command that becomes it, as harness.MemoryGroup makes one; nil: at once.
func startGatewayIn(t *testing.T, enter []string, nats string, args ...string) *gatewayProcess {
	t.Helper()
	g := &gatewayProcess{t: t, says: &lockedBuffer{}}
	command := slices.Concat(enter, []string{harness.Binary(t), "gateway", "--nats", nats, "--model", "m", "--ack-wait", "15s", "-p", "0", "--host", "127.0.0.1", "--log-format", "json"}, args)
	g.cmd = exec.Command(command[0], command[1:]...)
	g.cmd.Env = []string{"PATH=/nowhere", "HOME=/nowhere", "TMPDIR=" + t.TempDir()}
	g.cmd.Stderr = g.says
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = g.cmd.Process.Kill()
		_ = g.cmd.Wait()
		if t.Failed() {
			t.Logf("the gateway says: %s", g.says)
		}
	})
	harness.Eventually(t, "the gateway listens", func() bool {
		m := regexp.MustCompile(`"address":"(http://[^"]+)"`).FindStringSubmatch(g.says.String())
		if m != nil {
			g.address = m[1]
		}
		return m != nil
	})
	return g
}

// do sends a request and returns the answer's status, header and body.
func (g *gatewayProcess) do(method, path, body string, headers ...string) (int, http.Header, string) {
	g.t.Helper()
	request, err := http.NewRequestWithContext(g.t.Context(), method, g.address+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		g.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

// becomes waits until the gateway tells a state of a prediction.
func (g *gatewayProcess) becomes(id, status string) {
	g.t.Helper()
	harness.Eventually(g.t, id+" is "+status, func() bool {
		_, _, text := g.do(http.MethodGet, "/predictions/"+id, "")
		var p struct{ Status string }
		return json.Unmarshal([]byte(text), &p) == nil && p.Status == status
	})
}

// TestAGateway accepts while no server runs, and answers for what two servers run then.
func TestAGateway(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	g := startGateway(t, nats.URL)
	other := startGateway(t, nats.URL)
	if code, _, text := g.do(http.MethodPost, "/predictions", `{"id":"early","input":{"token":"early"}}`, "Prefer", "respond-async"); code != http.StatusAccepted {
		t.Fatalf("accept: %d %s", code, text)
	}
	g.becomes("early", "starting")
	if code, _, text := g.do(http.MethodPost, "/predictions", `{"id":"gone","input":{"token":"gone"}}`, "Prefer", "respond-async"); code != http.StatusAccepted {
		t.Fatalf("accept: %d %s", code, text)
	}
	if code, _, text := other.do(http.MethodPost, "/predictions/gone/cancel", ""); code != http.StatusOK {
		t.Errorf("cancel at another gateway: %d %s", code, text)
	}
	a := member(t, nats.URL, harness.Options{})
	b := member(t, nats.URL, harness.Options{Dir: a.Dir})
	for _, gateway := range []*gatewayProcess{g, other} {
		gateway.becomes("early", "succeeded")
		gateway.becomes("gone", "canceled")
	}
	if times(t, a, "early") != 1 || times(t, a, "gone") != 0 {
		t.Errorf("ran %d and %d times", times(t, a, "early"), times(t, a, "gone"))
	}
	becomes(t, b, "early", "succeeded")

	code, _, text := g.do(http.MethodPost, "/predictions", `{"input":{"token":"sync"}}`)
	if code != http.StatusOK || !strings.Contains(text, `"status":"succeeded"`) || !strings.Contains(text, `"output":"`) {
		t.Errorf("a synchronous request: %d %s", code, text)
	}
	if code, _, text := g.do(http.MethodPost, "/predictions", `{"id":"early","input":{}}`, "Prefer", "respond-async"); code != http.StatusConflict {
		t.Errorf("a known id: %d %s", code, text)
	}
	open := makeFIFO(t, a.Dir, "gate")
	if code, _, text := g.do(http.MethodPut, "/predictions/runs", `{"input":{"gate":"gate"}}`, "Prefer", "respond-async"); code != http.StatusAccepted {
		t.Fatalf("PUT: %d %s", code, text)
	}
	g.becomes("runs", "processing")
	open()
	g.becomes("runs", "succeeded")
	if code, _, text := g.do(http.MethodPut, "/predictions/sleeps", `{"input":{"do":"sleep"}}`, "Prefer", "respond-async"); code != http.StatusAccepted {
		t.Fatalf("PUT: %d %s", code, text)
	}
	g.becomes("sleeps", "processing")
	if code, _, text := other.do(http.MethodPost, "/predictions/sleeps/cancel", ""); code != http.StatusOK {
		t.Errorf("cancel a running one: %d %s", code, text)
	}
	g.becomes("sleeps", "canceled")
	if code, _, _ := g.do(http.MethodGet, "/predictions/unknown", ""); code != http.StatusNotFound {
		t.Errorf("an unknown id: %d", code)
	}
}

// TestAGatewayChecksInputs by the schema that the last server wrote: what does not fit is refused as a server refuses it. Before the
// first server it accepts all, and that server checks.
func TestAGatewayChecksInputs(t *testing.T) {
	t.Parallel()
	at := harness.StartNATS(t)
	js := jetStream(t, at)
	g := startGateway(t, at.URL)
	accept := func(id, input string) (int, string) {
		t.Helper()
		code, _, text := g.do(http.MethodPost, "/predictions", `{"id":"`+id+`","input":`+input+`}`, "Prefer", "respond-async")
		return code, text
	}
	if code, text := accept("early", `{"prompt":1}`); code != http.StatusAccepted {
		t.Errorf("before the first server: %d %s", code, text)
	}
	s := member(t, at.URL, harness.Options{Model: "page.py:Form"})
	g.becomes("early", "failed")
	harness.Eventually(t, "the gateway refuses what does not fit", func() bool {
		code, _ := accept(fmt.Sprint("late-", time.Now().UnixNano()), `{"prompt":1}`)
		return code == http.StatusUnprocessableEntity
	})
	want := s.Create(map[string]any{"input": map[string]any{"steps": 99}})
	if code, text := accept("wrong", `{"steps":99}`); code != want.Code || text != string(want.Body) {
		t.Errorf("the gateway says %d %s, a server %d %s", code, text, want.Code, want.Body)
	}
	if code, _, text := g.do(http.MethodGet, "/predictions/wrong", ""); code != http.StatusNotFound {
		t.Errorf("it is known after all: %d %s", code, text)
	}
	for _, path := range []string{"/trainings", "/predictions"} { // the model has no training
		code, _, text := g.do(http.MethodPost, path, `{"input":{"prompt":"","steps":0}}`)
		if here := s.Do(http.MethodPost, path, map[string]any{"input": map[string]any{"prompt": "", "steps": 0}}); code != here.Code || code < 400 {
			t.Errorf("%s: %d %s, but a server says %d", path, code, text, here.Code)
		}
	}
	if code, text := accept("good", `{"prompt":"a","token":"hidden-in-the-state"}`); code != http.StatusAccepted {
		t.Errorf("what fits: %d %s", code, text)
	}
	g.becomes("good", "succeeded")

	s.Stop()
	if code, text := accept("waits", `{"prompt":"a","token":"hidden-in-the-state"}`); code != http.StatusAccepted {
		t.Errorf("without a server: %d %s", code, text)
	}
	if _, _, text := g.do(http.MethodGet, "/predictions/waits", ""); !strings.Contains(text, `"token":"**********"`) || strings.Contains(text, "hidden") {
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
	if code, text := accept("new", `{"n":1}`); code != http.StatusAccepted { // the gateway may know only the schema before
		t.Errorf("what fits into the last schema: %d %s", code, text)
	}
}

// TestAStreamThroughAGateway gets the events of the server that runs it.
func TestAStreamThroughAGateway(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	g := startGateway(t, nats.URL)
	s := member(t, nats.URL, harness.Options{Model: "tokens.py"})
	open := makeFIFO(t, s.Dir, "gate")
	if code, _, text := g.do(http.MethodPost, "/predictions", `{"id":"p1","input":{"n":50,"gate":"gate"}}`, "Prefer", "respond-async"); code != http.StatusAccepted {
		t.Fatalf("accept: %d %s", code, text)
	}
	g.becomes("p1", "processing")
	stream := followStream(t, &harness.Server{Address: g.address}, "p1")
	open()
	if text := harness.Receive(t, stream); strings.Count(text, "event: output") != 50 || !strings.Contains(text, `"status":"succeeded"`) {
		t.Errorf("the stream is %.400s", text)
	}
	code, header, text := g.do(http.MethodPost, "/predictions", `{"input":{"n":5}}`, "Accept", "text/event-stream")
	if code != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") || !strings.Contains(text, `"output":["token 0","token 1","token 2","token 3","token 4"]`) {
		t.Errorf("a new stream: %d %v %.400s", code, header, text)
	}
}

// TestAGatewayWithoutServersOrNATS: a synchronous request waits in vain; without NATS the gateway is not ready.
func TestAGatewayWithoutServersOrNATS(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	g := startGateway(t, nats.URL, "--queue-timeout", "1s")
	if code, _, text := g.do(http.MethodPost, "/predictions", `{"input":{}}`); code != http.StatusRequestTimeout {
		t.Errorf("a synchronous request without a server: %d %s", code, text)
	}
	if code, _, text := g.do(http.MethodGet, "/health-check", ""); code != http.StatusOK || !strings.Contains(text, `"status":"READY"`) || !strings.Contains(text, `"fleet":{"connected":true`) {
		t.Errorf("its health: %d %s", code, text)
	}
	for _, path := range []string{"/readyz", "/livez", "/metrics"} {
		if code, _, text := g.do(http.MethodGet, path, ""); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	nats.Kill()
	harness.Eventually(t, "it is not ready", func() bool {
		code, _, text := g.do(http.MethodGet, "/readyz", "")
		return code == http.StatusServiceUnavailable && strings.HasPrefix(text, `{"detail":"The job queue takes no requests now: NATS cannot be reached; `)
	})
	if code, header, text := g.do(http.MethodPost, "/predictions", `{"input":{}}`, "Prefer", "respond-async"); code != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
		t.Errorf("without NATS: %d %s", code, text)
	}
	if code, _, _ := g.do(http.MethodGet, "/livez", ""); code != http.StatusOK {
		t.Errorf("/livez without NATS: %d", code)
	}
	nats.Start()
	harness.Eventually(t, "it is ready again", func() bool {
		code, _, _ := g.do(http.MethodGet, "/readyz", "")
		return code == http.StatusOK
	})
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestAGatewayIsLost: the jobs whose clients waited there are canceled, those that wait as well as those that run. Accepted ones go on.
func TestAGatewayIsLost(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	s := member(t, nats.URL, harness.Options{})
	g := startGateway(t, nats.URL)
	open := makeFIFO(t, s.Dir, "gate")
	waits := func(id string, in input) {
		go harness.At(g.address).Do(http.MethodPut, "/predictions/"+id, map[string]any{"input": in})
	}
	waits("runs", input{"do": "sleep", "token": "runs"})
	becomes(t, s, "runs", "processing")
	waits("waits", input{"token": "waits"})
	becomes(t, s, "waits", "starting")
	if code, _, text := g.do(http.MethodPut, "/predictions/accepted", `{"input":{"gate":"gate"}}`, "Prefer", "respond-async"); code != http.StatusAccepted {
		t.Fatalf("accept: %d %s", code, text)
	}
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
		"--nats is missing":              {"--model", "m"},
		"--model is missing":             {"--nats", "nats://127.0.0.1:1"},
		"the queue of one server":        {"--nats", "embed", "--model", "m"},
		`the model's name is "a.b"`:      {"--nats", "nats://127.0.0.1:1", "--model", "a.b"},
		"--queue-timeout and --grace":    {"--nats", "nats://127.0.0.1:1", "--model", "m", "--queue-timeout", "0s"},
		"--ack-wait 1s: it is at least ": {"--nats", "nats://127.0.0.1:1", "--model", "m", "--ack-wait", "1s"},
		"takes no argument, not dir":     {"dir", "--nats", "nats://127.0.0.1:1", "--model", "m"},
	} {
		wantText(t, fmt.Sprintf("%q", args), (cli{}).bad(t, 2, append([]string{"gateway"}, args...)...), want)
	}
}
