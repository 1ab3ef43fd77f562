package queue

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// callerModel calls a model, if it is told to; the other one may wait for its gate.
const callerModel = `
import cog

def run(call: str = "", gate: str = "", fail: str = "") -> str:
    if call:
        return cog.call(call, gate=gate, fail=fail)
    if gate:
        open(gate).read()
    if fail:
        raise ValueError(fail)
    return "end"
`

// startCallers serves the models a and b of callerModel from folders below dir.
func startCallers(t *testing.T, nats, dir string) *harness.Server {
	t.Helper()
	o := harness.Options{
		Python: harness.AnyPython(t).Path, Dir: dir, Args: []string{"--nats", nats, "--ack-wait", "15s", "--queue", "4"},
	}
	for _, name := range []string{"a", "b"} {
		harness.WriteFile(t, filepath.Join(dir, name, "run.py"), callerModel)
		harness.WriteFile(t, filepath.Join(dir, name, "cog.yaml"), "run: run.py:run\n")
		o.Models = append(o.Models, name+"="+filepath.Join(dir, name))
	}
	s := harness.Start(t, o)
	harness.WaitModels(t, s)
	return s
}

// callsOf writes the calls of an answer: MODEL STATUS, and their errors.
func callsOf(t *testing.T, a harness.Answer) string {
	t.Helper()
	var got struct {
		Calls []struct{ Model, ID, Status, Error string }
	}
	harness.Decode(t, a, &got)
	var parts []string
	for _, c := range got.Calls {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Model, c.Status, c.Error)))
	}
	return strings.Join(parts, ", ")
}

// TestCalls_OfJob are in its object after its end, and while it runs: at a gateway for those who ask for them, and at a
// server with a NATS server of its own. Webhooks have none, as those of a direct prediction.
func TestCalls_OfJob(t *testing.T) {
	t.Parallel()
	at := harness.StartNATSOf(t, "a", "b")
	for where, c := range map[string]struct{ nats, dir string }{
		"gateway": {at.URL, t.TempDir()}, "embed": {"embed:" + t.TempDir(), t.TempDir()},
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			s := startCallers(t, c.nats, c.dir)
			asked := s
			if where == "gateway" {
				asked = harness.StartGatewayWith(t, c.nats, "--models", "a,b").Server
			}
			ends := func(id, status, want string, in harness.Input) harness.Answer {
				t.Helper()
				harness.EnqueueAt(t, asked, "a", id, in)
				a := harness.WaitStatusAt(t, asked, "a", id, status)
				assert.Equal(t, "the calls of "+id, callsOf(t, a), want)
				return a
			}
			ends("called", "succeeded", "b succeeded", harness.Input{"call": "b"})
			ends("failed", "failed", "b failed ValueError: no <b>words</b>",
				harness.Input{"call": "b", "fail": "no <b>words</b>"})
			ends("refused", "failed", `a refused model "a" is already among its callers: a → a`, harness.Input{"call": "a"})
			var members map[string]json.RawMessage
			harness.Decode(t, ends("none", "succeeded", "", harness.Input{}), &members)
			_, has := members["calls"]
			assert.False(t, has, "a job without calls has %s, want no calls", members["calls"])

			harness.MakeFIFO(t, filepath.Join(c.dir, "b"), "gate")
			harness.EnqueueAt(t, asked, "a", "live", harness.Input{"call": "b", "gate": "gate"})
			assert.Eventually(t, "the server that runs it shows the call", func() bool {
				return callsOf(t, harness.StateAt(s, "a", "live")) == "b processing"
			})
			if where == "gateway" {
				live := "/models/a/predictions/live"
				assert.Equal(t, "the calls at the gateway, asked for", callsOf(t, asked.Do(http.MethodGet, live+"?calls", nil)),
					"b processing")
				assert.Equal(t, "the calls at the gateway, not asked for", callsOf(t, asked.Do(http.MethodGet, live, nil)), "")
			}
			harness.WantCode(t, "cancel", asked.Do(http.MethodPost, "/models/a/predictions/live/cancel", nil), http.StatusOK)
			a := harness.WaitStatusAt(t, asked, "a", "live", "canceled")
			assert.Equal(t, "the calls of the canceled job", callsOf(t, a), "b canceled")
		})
	}
}

// TestCalls_AtGatewayOfOneModel: its page asks for the calls, though it knows of no other model.
func TestCalls_AtGatewayOfOneModel(t *testing.T) {
	t.Parallel()
	at := harness.StartNATSOf(t, "a", "b")
	startCallers(t, at.URL, t.TempDir())
	g := harness.StartGatewayOf(t, at.URL, "a")
	harness.WantAnswer(t, "the page", g.Do(http.MethodGet, "/docs", nil), http.StatusOK, `id="calls" data-asked="true"`)
	body := map[string]any{"id": "waits", "input": harness.Input{"call": "b"}}
	harness.WantCode(t, "a prediction", g.Do(http.MethodPost, "/predictions", body), http.StatusOK)
	assert.Equal(t, "its calls", callsOf(t, g.Do(http.MethodGet, "/predictions/waits", nil)), "b succeeded")
}
