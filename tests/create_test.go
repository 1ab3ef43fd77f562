package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/harness"
)

func TestEveryRefusalHasItsCodeAndWords(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "typed.py"})
	text := []string{"Content-Type", "text/plain"}
	long := strings.Repeat("x", 257)
	for _, c := range []struct {
		name, method, path string
		body               any
		headers            []string
		code               int
		want               string
	}{
		{"unknown path", "GET", "/nothing", nil, nil, 404, `{"detail":"Not Found"}`},
		{"wrong method", "GET", "/predictions", nil, nil, 405, `{"detail":"Method Not Allowed"}`},
		{"wrong method of cancel", "GET", "/predictions/x/cancel", nil, nil, 405, `{"detail":"Method Not Allowed"}`},
		{"cancel of nothing", "POST", "/predictions/x/cancel", nil, nil, 404, `{}`},
		{"other type", "POST", "/predictions", "{}", text, 415, `Content-Type: application/json`},
		{"JSON with parameter", "POST", "/predictions", "{}", []string{"Content-Type", "application/json; charset=utf-8"}, 200, `"succeeded"`},
		{"some +json", "POST", "/predictions", "{}", []string{"Content-Type", "application/vnd.x+json"}, 200, `"succeeded"`},
		{"no type", "POST", "/predictions", `{"input":{"whole":7}}`, []string{"Content-Type", ""}, 200, `"int 7"`},
		{"no body", "POST", "/predictions", nil, nil, 200, `"succeeded"`},
		{"empty body said to be JSON", "POST", "/predictions", "", nil, 400, `"detail"`},
		{"no JSON", "POST", "/predictions", "{", nil, 400, `"detail"`},
		{"single quotes", "POST", "/predictions", "{'input':1}", nil, 400, `"detail"`},
		{"rubbish behind", "POST", "/predictions", "{} x", nil, 400, `"detail"`},
		{"byte order mark", "POST", "/predictions", "\ufeff{}", nil, 400, `"detail"`},
		{"invalid UTF-8", "POST", "/predictions", "{\"id\":\"\xff\"}", nil, 400, `"detail"`},
		{"lone surrogate", "POST", "/predictions", `{"input":{"text":"\ud800"}}`, nil, 400, `"detail"`},
		{"NaN", "POST", "/predictions", `{"input":{"part":NaN}}`, nil, 400, `"detail"`},
		{"too deep", "POST", "/predictions", `{"input":{"free":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}}`, nil, 400, `"detail"`},
		{"not an object", "POST", "/predictions", "[]", nil, 422, `"loc":["body"]`},
		{"input not an object", "POST", "/predictions", `{"input":[]}`, nil, 422, `"loc":["body","input","__root__"]`},
		{"id not a string", "POST", "/predictions", `{"id":7}`, nil, 422, `"loc":["body","id"]`},
		{"id too long", "POST", "/predictions", `{"id":"` + long + `"}`, nil, 422, `"loc":["body","id"]`},
		{"id with a slash", "POST", "/predictions", `{"id":"a/b"}`, nil, 422, `"loc":["body","id"]`},
		{"id with a control character", "POST", "/predictions", `{"id":"a\n"}`, nil, 422, `"loc":["body","id"]`},
		{"id empty", "POST", "/predictions", `{"id":""}`, nil, 422, `"loc":["body","id"]`},
		{"context of no strings", "POST", "/predictions", `{"context":{"a":1}}`, nil, 422, `"loc":["body","context"`},
		{"nulls count as absent", "POST", "/predictions", `{"id":null,"input":null,"context":null,"webhook_events_filter":null}`, nil, 200, `"succeeded"`},
		{"other keys are ignored", "POST", "/predictions", `{"colour":1,"created_at":7}`, nil, 200, `"succeeded"`},
		{"the last of two keys counts", "POST", "/predictions", `{"input":{"whole":3},"input":{"whole":4,"whole":5}}`, nil, 200, `"int 5"`},
	} {
		a := s.Do(c.method, c.path, c.body, c.headers...)
		if a.Err != nil || a.Code != c.code || !strings.Contains(string(a.Body), c.want) {
			t.Errorf("%s: got %.300s, want %d %s", c.name, a, c.code, c.want)
		}
		if kind := a.Header.Get("Content-Type"); kind != "application/json" {
			t.Errorf("%s: Content-Type is %q", c.name, kind)
		}
	}
}

func TestDiscoverySaysWhereThingsAre(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "typed.py"})
	a := s.Do(http.MethodGet, "/", nil)
	wantCode(t, "discovery", a, 200)
	version := s.Health().Version["cog"]
	sameJSON(t, "discovery", a.Body, fmt.Sprintf(`{"cog_version":%q,"docs_url":"/docs","openapi_url":"/openapi.json",
		"shutdown_url":"/shutdown","healthcheck_url":"/health-check","predictions_url":"/predictions",
		"predictions_idempotent_url":"/predictions/{prediction_id}",
		"predictions_cancel_url":"/predictions/{prediction_id}/cancel"}`, version))
}

func TestNothingIsTakenBeforeSetupEnds(t *testing.T) {
	t.Parallel()
	dir := harness.Models(t)
	open := makeFIFO(t, dir, "gate")
	s := harness.Start(t, harness.Options{Dir: dir, Model: "setups.py:Gated"})
	s.WaitLog("setting up")
	if h := s.Health(); h.Status != "STARTING" || h.Setup.Status != "starting" || h.Setup.CompletedAt != "" {
		t.Errorf("health is %+v", h)
	}
	a := s.Input(input{})
	wantCode(t, "prediction", a, 503)
	sameJSON(t, "prediction", a.Body, `{"error":"Setup has not finished yet. Wait until it has finished, or GET /health-check for status.","status":"failed"}`)
	if a.Header.Get("Pinion-Retry") != "elsewhere" {
		t.Error("no Pinion-Retry")
	}
	a = s.Do(http.MethodGet, "/openapi.json", nil)
	wantCode(t, "schema", a, 503)
	sameJSON(t, "schema", a.Body, `{"error":"OpenAPI schema not available"}`)
	open()
	s.WaitHealth("READY")
	sameJSON(t, "output", s.Succeed(input{}).Output, `"through"`)
	wantCode(t, "schema", s.Do(http.MethodGet, "/openapi.json", nil), 200)
}

func TestABusyServerRefusesWithoutAQueue(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py"})
	open := makeFIFO(t, s.Dir, "gate")
	first := s.Begin("first", input{"token": "first", "gate": "gate"})
	s.WaitLog("waiting first")
	if h := s.Health(); h.Status != "BUSY" {
		t.Errorf("health is %s, want BUSY", h.Status)
	}
	a := s.Input(input{"token": "second"})
	wantCode(t, "second", a, 409)
	sameJSON(t, "second", a.Body, `{"error":"At capacity - all prediction slots busy","status":"failed"}`)
	if a.Header.Get("Pinion-Retry") != "elsewhere" {
		t.Error("no Pinion-Retry")
	}
	open()
	if a := harness.Receive(t, first); a.Status != "succeeded" {
		t.Errorf("first: %s", a)
	}
	s.WaitHealth("READY")
	if ran := lines(t, s, "ran.txt"); len(ran) != 1 {
		t.Errorf("the model ran %q", ran)
	}
}

func TestAnIdInFlightIsRefusedAndFreeAfterwards(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--queue", "5"}})
	open := makeFIFO(t, s.Dir, "gate")
	first := s.Begin("same", input{"token": "first", "gate": "gate"})
	s.WaitLog("waiting first")
	a := s.Create(input{"id": "same", "input": input{"token": "second"}})
	wantCode(t, "second", a, 409)
	if !strings.Contains(string(a.Body), `"status":"failed"`) || a.Header.Get("Pinion-Retry") != "" {
		t.Errorf("second: %s, Pinion-Retry %q", a, a.Header.Get("Pinion-Retry"))
	}
	open()
	if a := harness.Receive(t, first); a.Status != "succeeded" || a.ID != "same" {
		t.Errorf("first: %s", a)
	}
	// The answer is out, so the id must be free: at once, not soon.
	for range 20 {
		if a := s.Create(input{"id": "same", "input": input{}}); a.Status != "succeeded" {
			t.Fatalf("again: %s", a)
		}
	}
	if ran := lines(t, s, "ran.txt"); len(ran) != 1 {
		t.Errorf("the model ran %q", ran)
	}
}

func TestAQueueHoldsItsNumberAndNoMore(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--queue", "3"}})
	open := makeFIFO(t, s.Dir, "gate")
	first := s.Begin("first", input{"token": "first", "gate": "gate"})
	s.WaitLog("waiting first")
	waiting := []<-chan harness.Answer{first}
	for _, name := range numbered("waiting", 3) {
		waiting = append(waiting, s.Request(name, input{"token": name}).Answer)
	}
	full := s.Input(input{"token": "probe"})
	wantCode(t, "full", full, 429)
	if !regexp.MustCompile(`^[1-9][0-9]*$`).MatchString(full.Header.Get("Retry-After")) || full.Header.Get("Pinion-Retry") != "elsewhere" {
		t.Errorf("headers are %v", full.Header)
	}
	open()
	for _, answer := range waiting {
		if a := harness.Receive(t, answer); a.Status != "succeeded" {
			t.Errorf("got %s", a)
		}
	}
	if ran := lines(t, s, "ran.txt"); len(ran) != 4 {
		t.Errorf("the model ran %q", ran)
	}
}

func TestAPredictionThatWaitsTooLongNeverReachesTheModel(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--queue", "20", "--queue-timeout", "1s"}})
	open := makeFIFO(t, s.Dir, "gate")
	first := s.Begin("first", input{"token": "first", "gate": "gate"})
	s.WaitLog("waiting first")
	var waiting []<-chan harness.Answer
	for _, name := range numbered("late", 5) { // some lie in the worker's socket, some in the queue
		waiting = append(waiting, s.Begin(name, input{"token": name}))
	}
	for _, answer := range waiting {
		a := harness.Receive(t, answer)
		wantCode(t, "late", a, 408)
		if a.Header.Get("Pinion-Retry") != "elsewhere" {
			t.Error("no Pinion-Retry")
		}
	}
	open()
	if a := harness.Receive(t, first); a.Status != "succeeded" { // it had its slot in time
		t.Errorf("first: %s", a)
	}
	s.Succeed(input{"token": "after"})
	if ran := strings.Join(lines(t, s, "ran.txt"), " "); ran != "first after" {
		t.Errorf("the model ran %s", ran)
	}
}

func TestAClientThatLeavesCancels(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "blocking.py"})
	request := s.Request("left", input{"how": "sleep"})
	s.WaitLog("begun")
	request.Leave()
	s.WaitLog("canceled in sleep")
	s.WaitLog("finally sleep")
	s.WaitHealth("READY")
	wantCode(t, "cancel of what is gone", s.Cancel("left"), http.StatusOK)
	s.Succeed(input{})
	if s.Health().Workers[0].Restarts != 0 {
		t.Error("the worker was replaced")
	}
}

func TestAClientThatLeavesAQueuedPredictionKeepsItFromTheModel(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--queue", "10"}})
	open := makeFIFO(t, s.Dir, "gate")
	first := s.Begin("first", input{"token": "first", "gate": "gate"})
	s.WaitLog("waiting first")
	for _, name := range numbered("left", 4) { // some lie in the worker's socket, some in the queue
		s.Request(name, input{"token": name}).Leave()
	}
	for _, name := range numbered("left", 4) {
		harness.Eventually(t, name+" is canceled", func() bool {
			return s.Do(http.MethodGet, "/predictions/"+name, nil).Status == "canceled"
		})
	}
	open()
	harness.Receive(t, first)
	s.Succeed(input{"token": "after"})
	if ran := strings.Join(lines(t, s, "ran.txt"), " "); ran != "first after" {
		t.Errorf("the model ran %s", ran)
	}
}

func TestAPipelineOfRequestsOnOneConnectionIsAnsweredInOrder(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "echo.py:text"})
	const n = 50
	var request strings.Builder
	for i := range n {
		body := fmt.Sprintf(`{"id":"p%d","input":{"text":"t%d"}}`, i, i)
		fmt.Fprintf(&request, "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	answers := s.Raw(request.String(), n)
	for i, a := range answers {
		if want := fmt.Sprintf(`"t%d"`, i); a.Status != "succeeded" || string(a.Output) != want || a.ID != fmt.Sprintf("p%d", i) {
			t.Fatalf("answer %d: %s, want %s", i, a, want)
		}
	}
}

func TestTheFrontNeverHoldsPython(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "echo.py:text"})
	s.Succeed(input{})
	for _, name := range []string{"libpython", "libcuda", s.Dir} {
		if strings.Contains(harness.Maps(t, s.PID), name) {
			t.Errorf("the front maps %s", name)
		}
	}
	if !strings.Contains(harness.Maps(t, s.Worker()), "libpython") {
		t.Error("the worker maps no libpython: this test would find none")
	}
}

// TestATerminalsSignalsDoNotReachTheWorker: Ctrl-C goes to the front's whole process group, and the front is to drain.
func TestATerminalsSignalsDoNotReachTheWorker(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "dying.py"})
	worker := s.Worker()
	if group := harness.Group(t, worker); group != worker {
		t.Errorf("the worker %d is in the group %d", worker, group)
	}
	open := makeFIFO(t, s.Dir, "gate")
	answer := s.Begin("running", input{"token": "running", "gate": "gate"})
	s.WaitLog("waiting running")
	if err := syscall.Kill(-harness.Group(t, s.PID), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	drainBegun(s)
	open()
	if a := harness.Receive(t, answer); a.Status != "succeeded" {
		t.Errorf("got %s", a)
	}
	s.Ended(0)
}

func TestMetricsAndContextAreThePredictionsOwn(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "mixture.py:Scoped"})
		for _, n := range []int{1, 2} {
			a := s.Create(input{"input": input{"n": n}, "context": input{"user": fmt.Sprint("u", n)}})
			sameJSON(t, "context", a.Output, fmt.Sprintf(`{"user":"u%d"}`, n))
			if _, ok := a.Metrics["predict_time"]; !ok {
				t.Errorf("no predict_time in %s", a)
			}
			delete(a.Metrics, "predict_time")
			got, _ := json.Marshal(a.Metrics) // decoded from JSON
			sameJSON(t, "metrics", got, fmt.Sprintf(`{"n":%d,"total":%d,"list":[1,2],"nested":{"deep":"x"},"flag":true}`, n, n+1))
		}
		sameJSON(t, "no context", s.Create(input{"input": input{"n": 1}}).Output, `{}`)
		a := s.Fail(input{"n": 0})
		if a.Error == "" || a.Metrics["n"] != 0.0 {
			t.Errorf("what was recorded before a failure is lost: %s", a)
		}
		if a := s.Fail(input{"n": -1}); !strings.HasPrefix(a.Error, "TypeError: ") && !strings.HasPrefix(a.Error, "ValueError: ") {
			t.Errorf("a reserved name: %s", a)
		}
	})
}

// TestTheModelKnowsItsTrace by its context, where the request has the headers.
func TestTheModelKnowsItsTrace(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Dir: folder(t, "run.py", `
from cog import current_scope

def run() -> dict:
    return dict(current_scope().context)
`)})
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	body := map[string]any{"input": input{}, "context": map[string]string{"user": "ann"}}
	for _, c := range []struct {
		headers []string
		want    string
	}{
		{nil, `{"user":"ann"}`},
		{[]string{"traceparent", parent, "tracestate", "a=1"}, `{"traceparent":"` + parent + `","tracestate":"a=1","user":"ann"}`},
	} {
		if a := s.Create(body, c.headers...); string(a.Output) != c.want {
			t.Errorf("%q: %s, want the output %s", c.headers, a, c.want)
		}
	}
}
