package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestCreate_ClientThatLeavesQueuedPredictionKeepsItFromModel(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--queue", "10"}})
	open, first := harness.BeginAtGate(t, s, harness.Input{"token": "first"})
	for _, name := range harness.Numbered("left", 4) { // some lie in the worker's socket, some in the queue
		s.Request(name, harness.Input{"token": name}).Leave()
	}
	for _, name := range harness.Numbered("left", 4) {
		assert.Eventually(t, name+" is canceled", func() bool {
			return s.Do(http.MethodGet, "/predictions/"+name, nil).Status == "canceled"
		})
	}
	open()
	harness.Receive(t, first)
	s.Succeed(harness.Input{"token": "after"})
	assert.Equal(t, "the model ran", strings.Join(harness.ModelLines(t, s, "ran.txt"), " "), "first after")
}

// TestCreate_IDIsFreeWhenItsAnswerIsOut: at once, not soon, so that a client may send the next request with it.
func TestCreate_IDIsFreeWhenItsAnswerIsOut(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "echo.py:text"})
	for n := range 20 {
		a := s.Create(harness.Input{"id": "same", "input": harness.Input{"text": "x"}})
		assert.TrueNow(t, a.Status == "succeeded", "request %d: %s, want Status succeeded", n, a)
	}
}

// TestCreate_LongPipelineIsAnsweredInOrder, on its one connection.
func TestCreate_LongPipelineIsAnsweredInOrder(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "echo.py:text"})
	const many = 50
	var requests strings.Builder
	for n := range many {
		body := fmt.Sprintf(`{"id":"p%d","input":{"text":"t%d"}}`, n, n)
		fmt.Fprintf(&requests, "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	for n, a := range s.Raw(requests.String(), many) {
		assert.TrueNow(t, a.Status == "succeeded" && a.ID == fmt.Sprint("p", n) && a.Text(t) == fmt.Sprint("t", n),
			"answer %d: %s, want Status succeeded, ID %q and Text %q", n, a, fmt.Sprint("p", n), fmt.Sprint("t", n))
	}
}

func TestCreate_FrontNeverHoldsPython(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "echo.py:text"})
	s.Succeed(harness.Input{})
	for _, name := range []string{"libpython", "libcuda", s.Dir} {
		assert.False(t, strings.Contains(harness.Maps(t, s.PID), name), "the front maps %s, want it nowhere", name)
	}
	assert.Contains(t, "what the worker maps", harness.Maps(t, s.Worker()), "libpython")
}

// TestCreate_TerminalsSignalsDoNotReachWorker: Ctrl-C goes to the front's whole process group, and the front is to
// drain.
func TestCreate_TerminalsSignalsDoNotReachWorker(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py"})
	worker := s.Worker()
	assert.Equal(t, "the worker's process group", harness.Group(t, worker), worker)
	open, answer := harness.BeginAtGate(t, s, harness.Input{"token": "running"})
	harness.SendSignal(t, -harness.Group(t, s.PID), syscall.SIGINT)
	harness.WaitDrain(s)
	open()
	harness.WantStatus(t, "the answer", harness.Receive(t, answer), "succeeded")
	s.Ended(0)
}

func TestCreate_MetricsAndContextArePredictionsOwn(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "mixture.py:Scoped"})
		for _, n := range []int{1, 2} {
			a := s.Create(harness.Input{"input": harness.Input{"n": n}, "context": harness.Input{"user": fmt.Sprint("u", n)}})
			harness.EqualJSON(t, "context", a.Output, fmt.Sprintf(`{"user":"u%d"}`, n))
			_, ok := a.Metrics["predict_time"]
			assert.True(t, ok, "no predict_time in %s", a)
			delete(a.Metrics, "predict_time")
			got, _ := json.Marshal(a.Metrics) // decoded from JSON
			harness.EqualJSON(t, "metrics", got,
				fmt.Sprintf(`{"n":%d,"total":%d,"list":[1,2],"nested":{"deep":"x"},"flag":true}`, n, n+1))
		}
		harness.EqualJSON(t, "no context", s.Create(harness.Input{"input": harness.Input{"n": 1}}).Output, `{}`)
		a := s.Fail(harness.Input{"n": 0})
		assert.True(t, a.Error != "" && a.Metrics["n"] == 0.0,
			`what was recorded before a failure is lost: %s, want Error non-empty and Metrics["n"] 0.0`, a)
		a = s.Fail(harness.Input{"n": -1})
		assert.True(t, strings.HasPrefix(a.Error, "TypeError: ") || strings.HasPrefix(a.Error, "ValueError: "),
			`a reserved name: %s, want Error starting with "TypeError: " or starting with "ValueError: "`, a)
	})
}

// TestCreate_ModelKnowsItsTrace by its context, where the request has the headers.
func TestCreate_ModelKnowsItsTrace(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Dir: harness.NewFolder(t, "run.py", `
from cog import current_scope

def run() -> dict:
    return dict(current_scope().context)
`)})
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	body := map[string]any{"input": harness.Input{}, "context": map[string]string{"user": "ann"}}
	for _, c := range []struct {
		headers []string
		want    string
	}{
		{nil, `{"user":"ann"}`},
		{
			[]string{"traceparent", parent, "tracestate", "a=1"},
			`{"traceparent":"` + parent + `","tracestate":"a=1","user":"ann"}`,
		},
	} {
		assert.Equal(t, fmt.Sprintf("with the headers %q", c.headers), string(s.Create(body, c.headers...).Output), c.want)
	}
}
