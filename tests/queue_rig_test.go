package tests

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pinion/tests/harness"
)

// member starts a server that takes jobs of the model "m" from a queue.
func member(t testing.TB, nats string, o harness.Options) *harness.Server {
	t.Helper()
	if o.Model == "" {
		o.Model = "fleet.py"
	}
	o.Args = append([]string{"--nats", nats, "--model", "m", "--ack-wait", "15s"}, o.Args...)
	return harness.Ready(t, o)
}

// jetStream is a connection to NATS as its operator has it.
func jetStream(t testing.TB, at *harness.NATS) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(at.Operator())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// enqueue has a prediction accepted.
func enqueue(t testing.TB, s *harness.Server, id string, in any, headers ...string) {
	t.Helper()
	a := s.Create(map[string]any{"id": id, "input": in}, append([]string{"Prefer", "respond-async"}, headers...)...)
	if a.Code != http.StatusAccepted || a.ID != id {
		t.Fatalf("accept %s: %s", id, a)
	}
}

// stateOf is the state of a prediction, as a server tells it.
func stateOf(s *harness.Server, id string) harness.Answer {
	return s.Do(http.MethodGet, "/predictions/"+id, nil)
}

// succeedsAtGate opens the gate of a prediction that two workers run until it has succeeded: the first opening may come
// before the second worker waits there.
func succeedsAtGate(t testing.TB, s *harness.Server, id string) (a harness.Answer) {
	t.Helper()
	harness.Eventually(t, id+" has succeeded", func() bool {
		openFIFO(filepath.Join(s.Dir, "gate"))
		a = stateOf(s, id)
		return a.Status == "succeeded"
	})
	return a
}

// becomes waits until a server tells a state of a prediction.
func becomes(t testing.TB, s *harness.Server, id, status string) (a harness.Answer) {
	t.Helper()
	harness.Eventually(t, id+" is "+status, func() bool {
		a = stateOf(s, id)
		return a.Status == status
	})
	return a
}

// times is how often the model wrote a token to ran.txt.
func times(t testing.TB, s *harness.Server, token string) (n int) {
	t.Helper()
	for _, line := range lines(t, s, "ran.txt") {
		if line == token {
			n++
		}
	}
	return n
}

// hookReceiver collects webhooks.
type hookReceiver struct {
	*httptest.Server

	hold func(*harness.Prediction) // if set, it returns when a webhook may be answered

	mu  sync.Mutex
	got []posted
}

// posted is a webhook as it came.
type posted struct {
	harness.Prediction
	header http.Header
}

func newHookReceiver(t testing.TB) *hookReceiver {
	r := &hookReceiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		text, _ := io.ReadAll(request.Body)
		one := posted{header: request.Header}
		if err := json.Unmarshal(text, &one.Prediction); err != nil {
			t.Errorf("a webhook is %q: %v", text, err)
		}
		if r.hold != nil {
			r.hold(&one.Prediction)
		}
		r.mu.Lock()
		r.got = append(r.got, one)
		r.mu.Unlock()
	}))
	t.Cleanup(r.Close)
	return r
}

// of are the webhooks of a prediction, in the order in which they came.
func (r *hookReceiver) of(id string) []posted {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.got), func(one posted) bool { return one.ID != id })
}
