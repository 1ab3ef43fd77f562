package queue

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// gatewayRoutes are routes of a gateway by which clients wait for a prediction of the model "m", with a body for each.
var gatewayRoutes = map[string]string{
	"/predictions":          `{"input":{"text":"x"}}`,
	"/v1/completions":       `{"model":"m","prompt":"x"}`,
	"/v2/models/m/infer":    `{"inputs":[{"name":"text","datatype":"BYTES","shape":[1],"data":["x"]}]}`,
	"/v2/models/m/generate": `{"text_input":"x","text":"x"}`,
	"/v1/models/m:predict":  `{"instances":[{"text":"x"}]}`,
	"/invocations":          `{"text":"x"}`,
	"/v1/predictions":       `{"version":"pinion/m","input":{"text":"x"}}`,
}

// TestGateway_ProtocolsReadMeta: a gateway bounds a tenant, and waits no longer than the client's deadline, at the
// routes of every protocol. Without NATS each answers 503 with Retry-After.
func TestGateway_ProtocolsReadMeta(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	dir := t.TempDir()
	harness.WriteFile(t, dir+"/run.py", `
import cog

class Runner(cog.BaseRunner):
    @cog.openai("completions")
    def run(self, prompt: str = "", text: str = "", text_input: str = "", gate: str = "") -> str:
        if gate:
            open(gate).read()
        return prompt + text + text_input
`)
	args := []string{"--tenant-header", "X-Tenant", "--tenant-capacity", "2"}
	member := harness.StartMember(t, nats.URL, harness.Options{Dir: dir, Model: "run.py:Runner", Args: args})
	g := harness.StartGateway(t, nats.URL, append(args, "--queue-timeout", "5m")...)
	assert.Eventually(t, "the gateway knows the model", func() bool {
		return g.Do(http.MethodGet, "/openapi.json", nil).Code == http.StatusOK
	})
	open := harness.MakeFIFO(t, member.Dir, "gate")
	harness.Enqueue(t, g.Server, "runs", harness.Input{"gate": "gate"}, "X-Tenant", "third")
	harness.WaitStatus(t, g.Server, "runs", "processing")
	for i := range 2 {
		harness.Enqueue(t, g.Server, fmt.Sprint("n", i), harness.Input{}, "X-Tenant", "noisy")
	}
	for path, body := range gatewayRoutes {
		full := g.Do(http.MethodPost, path, []byte(body), "X-Tenant", "noisy")
		harness.WantCode(t, path+", a tenant with too many", full, http.StatusTooManyRequests)
		begun := time.Now()
		late := g.Do(http.MethodPost, path, []byte(body), "X-Tenant", path, "Pinion-Deadline", "1", "Prefer", "wait")
		want := late.Code == http.StatusServiceUnavailable || late.Code == http.StatusRequestTimeout || late.Status == "failed"
		assert.True(t, want && time.Since(begun) < time.Minute, "%s, another tenant with a deadline of a second: %s after %s, "+
			"want a refusal or a failure at the deadline, not after --queue-timeout", path, late, time.Since(begun))
	}
	open()
	harness.WaitStatus(t, g.Server, "n1", "succeeded")
	nats.Kill()
	for path, body := range gatewayRoutes {
		var a harness.Answer
		assert.Eventually(t, path+" without NATS", func() bool {
			a = g.Do(http.MethodPost, path, []byte(body), "X-Tenant", "quiet")
			return a.Code == http.StatusServiceUnavailable
		})
		assert.True(t, a.Header.Get("Retry-After") != "" && a.Header.Get("X-Should-Retry") != "false",
			"%s without NATS: %s with %v, want a time to retry", path, a, a.Header)
	}
	nats.Start()
}
