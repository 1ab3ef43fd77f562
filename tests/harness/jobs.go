package harness

import (
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"testing"

	"pinion/tests/assert"
)

// StartMember starts a server that takes jobs of the model "m" from a queue.
func StartMember(t testing.TB, nats string, o Options) *Server {
	t.Helper()
	if o.Model == "" {
		o.Model = "fleet.py"
	}
	o.Args = append([]string{"--nats", nats, "--model", "m", "--ack-wait", "15s"}, o.Args...)
	return Ready(t, o)
}

// Enqueue creates an asynchronous prediction.
func Enqueue(t testing.TB, s *Server, id string, in any, headers ...string) {
	t.Helper()
	a := s.Create(map[string]any{"id": id, "input": in}, append([]string{"Prefer", "respond-async"}, headers...)...)
	assert.TrueNow(t, a.Code == http.StatusAccepted && a.ID == id, "accept %s: %s, want Code 202 and ID %q", id, a, id)
}

// EnqueueAtGate creates an asynchronous prediction with its id as token, and waits until it runs. It ends when open is
// called.
func EnqueueAtGate(t testing.TB, s *Server, id string) (open func()) {
	t.Helper()
	open = MakeFIFO(t, s.Dir, "gate")
	Enqueue(t, s, id, Input{"gate": "gate", "token": id})
	WaitStatus(t, s, id, "processing")
	return open
}

// StateOf returns the state of a prediction, as a server tells it.
func StateOf(s *Server, id string) Answer { return s.Do(http.MethodGet, "/predictions/"+id, nil) }

// WaitStatus waits until a server reports a status of a prediction.
func WaitStatus(t testing.TB, s *Server, id, status string) (a Answer) {
	t.Helper()
	assert.Eventually(t, id+" is "+status, func() bool {
		a = StateOf(s, id)
		return a.Status == status
	})
	return a
}

// EnqueueAt, StateAt and WaitStatusAt are Enqueue, StateOf and WaitStatus for one of several models.
func EnqueueAt(t testing.TB, s *Server, model, id string, in any, headers ...string) {
	t.Helper()
	a := s.Do(http.MethodPost, "/models/"+url.PathEscape(model)+"/predictions", map[string]any{"id": id, "input": in},
		append([]string{"Prefer", "respond-async"}, headers...)...)
	assert.TrueNow(t, a.Code == http.StatusAccepted && a.ID == id,
		"accept %s of %s: %s, want Code 202 and ID %q", id, model, a, id)
}

func StateAt(s *Server, model, id string) Answer {
	return s.Do(http.MethodGet, "/models/"+url.PathEscape(model)+"/predictions/"+id, nil)
}

func WaitStatusAt(t testing.TB, s *Server, model, id, status string) (a Answer) {
	t.Helper()
	assert.Eventually(t, id+" of "+model+" is "+status, func() bool {
		a = StateAt(s, model, id)
		return a.Status == status
	})
	return a
}

// TimesRun returns how often the model wrote a token to ran.txt.
func TimesRun(t testing.TB, s *Server, token string) (n int) {
	t.Helper()
	for _, line := range ModelLines(t, s, "ran.txt") {
		if line == token {
			n++
		}
	}
	return n
}

// Gateway is a 'pinion gateway' of the model "m".
type Gateway struct {
	*Server
	Cmd *exec.Cmd
	Log *Log
}

// StartGateway starts a gateway. It has no Python.
func StartGateway(t *testing.T, nats string, args ...string) Gateway {
	t.Helper()
	return StartGatewayIn(t, nil, nats, args...)
}

// StartGatewayIn starts a gateway by a command that executes it, such as MemoryGroup's; nil means directly.
func StartGatewayIn(t *testing.T, enter []string, nats string, args ...string) Gateway {
	t.Helper()
	return startGateway(t, enter, nats, append([]string{"--model", "m"}, args...))
}

// StartGatewayOf starts a gateway of another model.
func StartGatewayOf(t *testing.T, nats, model string, args ...string) Gateway {
	t.Helper()
	return startGateway(t, nil, nats, append([]string{"--model", model}, args...))
}

// StartGatewayWith starts a gateway with these flags, for several models.
func StartGatewayWith(t *testing.T, nats string, args ...string) Gateway {
	t.Helper()
	return startGateway(t, nil, nats, args)
}

func startGateway(t *testing.T, enter []string, nats string, args []string) Gateway {
	t.Helper()
	command := slices.Concat(enter,
		[]string{
			Binary(t), "gateway", "--nats", nats, "--ack-wait", "15s", "-p", "0", "--host",
			"127.0.0.1", "--log-format", "json",
		}, args)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{"PATH=/nowhere", "HOME=/nowhere", "TMPDIR=" + t.TempDir()}
	log := RunBeside(t, "the gateway", cmd)
	var line Line
	assert.Eventually(t, "the gateway listens", func() bool {
		var listens bool
		line, listens = log.Find("listening")
		return listens
	})
	return Gateway{At(line.Address), cmd, log}
}
