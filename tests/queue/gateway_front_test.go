package queue

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestGateway_OtherProtocols has clients of other protocols ask a gateway as they ask a server.
func TestGateway_OtherProtocols(t *testing.T) {
	t.Parallel()
	tool := harness.Tool(t, "venvs/protocols/bin/python")
	python := harness.Pythons(t)[0]
	harness.NeedModule(t, python, "numpy")
	for _, c := range []struct{ client, file, class string }{
		{"openai_sdk.py", "generative.py", "Chat"},
		{"openai_sdk.py", "generative.py", "Embedder"},
		{"openai_sdk.py", "generative.py", "Transcriber"},
		{"openai_sdk.py", "generative.py", "Painter"},
		{"triton_http.py", "tensors.py", "Scaler"},
		{"triton_http.py", "tensors.py", "Writer"},
		{"triton_http.py", "tensors.py", "Lister"},
	} {
		t.Run(c.class, func(t *testing.T) {
			t.Parallel()
			name := "m"
			if c.file == "tensors.py" {
				name = strings.ToLower(c.class)
			}
			at := harness.StartNATSOf(t, name)
			harness.Ready(t, harness.Options{
				Python: python.Path, Model: c.file + ":" + c.class,
				Args: []string{"--nats", at.URL, "--model", name, "--ack-wait", "15s"},
			})
			g := harness.StartGatewayOf(t, at.URL, name)
			assert.Eventually(t, "the gateway knows the model", func() bool {
				return g.Do(http.MethodGet, "/openapi.json", nil).Code == http.StatusOK
			})
			harness.RunTool(t, t.TempDir(), nil, tool, "-B", harness.Absolute(t, "clients/"+c.client), g.Address, c.class)
		})
	}
}

// fleetState is what the live view of a gateway gets.
type fleetState struct {
	Models []struct {
		Name                                     string
		Waiting, Running, Stored, Capacity, Dead int
		OldestWaiting                            *float64 `json:"oldest_waiting"`
		Servers                                  []struct {
			Name        string
			Slots, Free int
		}
	}
}

// TestGateway_OfSeveralModels is a whole front: documents, pages, the list of models, metrics. Without --models it
// finds them.
func TestGateway_OfSeveralModels(t *testing.T) {
	t.Parallel()
	at := harness.StartNATSOf(t, "a", "b")
	dir := t.TempDir()
	named := harness.StartGatewayWith(t, at.URL, "--models", "a,b")
	harness.EnqueueAt(t, named.Server, "b", "early", harness.Input{"text": "early"})
	s := startSeveral(t, at.URL, dir, []string{"a", "b"})
	harness.WaitStatusAt(t, named.Server, "b", "early", "succeeded")
	found := harness.StartGatewayWith(t, at.Operator())
	for about, g := range map[string]harness.Gateway{"--models": named, "found": found} {
		assert.Eventually(t, about+": it knows the models", func() bool {
			return g.Do(http.MethodGet, "/models/a/openapi.json", nil).Code == http.StatusOK &&
				g.Do(http.MethodGet, "/models/b/openapi.json", nil).Code == http.StatusOK
		})
		model, _, _, text := harness.SaidBy(t, harness.PredictBy(g.Server, "b", harness.Input{"text": "x"}))
		assert.Equal(t, about+": the answer of", model+" "+text, "b x")
		harness.WantAnswer(t, about+": an unknown model", g.Do(http.MethodPost, "/models/bb/predictions", `{"input":{}}`),
			http.StatusNotFound, `This server has no model \"bb\". It has a, b; did you mean \"b\"?`)
		harness.WantCode(t, about+": what does not fit",
			g.Do(http.MethodPost, "/models/a/predictions", `{"input":{"text":1}}`),
			http.StatusUnprocessableEntity)
		assert.Eventually(t, about+": it lists the models, with what their servers say", func() bool {
			var list struct {
				Models []struct {
					Name, State string
					Default     bool
					Slots       int
					Queue       struct{ Capacity int }
				}
			}
			harness.Decode(t, g.Do(http.MethodGet, "/models", nil), &list)
			return len(list.Models) == 2 && list.Models[1].Name == "b" && list.Models[1].State == "ready" &&
				list.Models[1].Slots == 1 && list.Models[1].Queue.Capacity == 100_000 &&
				list.Models[0].Default == (about == "--models")
		})
		for path, want := range map[string]string{
			"/models/a/docs": "<title>a</title>", "/dashboard": "<title>Fleet", "/metrics": `pinion_jobs_waiting{model="b"} 0`,
			"/v1/models": `"id":"b"`, "/v2/models/a": `"name":"a"`,
		} {
			harness.WantAnswer(t, about+": "+path, g.Do(http.MethodGet, path, nil), http.StatusOK, want)
		}
	}
	harness.WantAnswer(t, "the default model", harness.PredictBy(named.Server, "", harness.Input{"text": "root"}),
		http.StatusOK, `"output":"a `)
	harness.WantAnswer(t, "no default model", harness.PredictBy(found.Server, "", harness.Input{}),
		http.StatusServiceUnavailable, "This gateway has no default model: ask below /models/NAME. It has a, b")

	harness.MakeFIFO(t, filepath.Join(dir, "a"), "gate")
	harness.EnqueueAt(t, s, "a", "runs", harness.Input{"gate": "gate"})
	harness.EnqueueAt(t, s, "a", "waits", harness.Input{})
	assert.Eventually(t, "the view shows what runs and waits", func() bool {
		var state fleetState
		harness.Decode(t, named.Do(http.MethodGet, "/dashboard/fleet", nil), &state)
		a := state.Models[0]
		return len(state.Models) == 2 && a.Name == "a" && a.Waiting == 1 && a.Running == 1 && a.Stored == 2 &&
			a.OldestWaiting != nil && len(a.Servers) == 1 && a.Servers[0].Slots == 1 && a.Servers[0].Free == 0
	})
	harness.OpenFIFO(filepath.Join(dir, "a", "gate"))
	harness.WaitStatusAt(t, found.Server, "a", "waits", "succeeded")
}

// TestGateway_FindsModels that get a queue later, those of one NATS alone.
func TestGateway_FindsModels(t *testing.T) {
	t.Parallel()
	at, other := harness.StartNATSOf(t, "a"), harness.StartNATSOf(t, "other")
	g := harness.StartGatewayWith(t, at.Operator())
	harness.WantAnswer(t, "before the first model", g.Do(http.MethodPost, "/predictions", `{"input":{}}`),
		http.StatusServiceUnavailable, "No model has a job queue yet")
	harness.WantCode(t, "SageMaker's health without a model", g.Do(http.MethodGet, "/ping", nil),
		http.StatusServiceUnavailable)
	harness.WantAnswer(t, "SageMaker without a model", g.Do(http.MethodPost, "/invocations", []byte(`{"x":1}`)),
		http.StatusServiceUnavailable, "no model is loaded")
	startSeveral(t, other.URL, t.TempDir(), []string{"other"})
	startSeveral(t, at.URL, t.TempDir(), []string{"a"})
	assert.Eventually(t, "it finds the model", func() bool {
		return harness.PredictBy(g.Server, "", harness.Input{"text": "x"}).Status == "succeeded"
	})
	harness.WantCode(t, "a model of another NATS", g.Do(http.MethodGet, "/models/other", nil), http.StatusNotFound)
	assert.Contains(t, "a user who may not list",
		(harness.CLI{}).Bad(t, 1, "gateway", "--nats", at.URL), "NATS does not allow this user to list the job queues")
}
