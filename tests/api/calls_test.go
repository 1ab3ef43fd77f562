package api

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// callingModels serves models that call each other, by a file: the first by name on the oldest Python, the others on
// the newest. keys are further keys of a model.
func callingModels(t testing.TB, code, keys map[string]string, o harness.Options) (s *harness.Server, dir string) {
	t.Helper()
	dir = t.TempDir()
	python, text := harness.OldestPython(t), "models:\n"
	for _, name := range slices.Sorted(maps.Keys(code)) {
		harness.WriteFile(t, filepath.Join(dir, name, "run.py"), code[name])
		text += fmt.Sprintf("  %s: {path: %s, python: %s%s}\n", name, name, python.Path, keys[name])
		python = harness.NewestPython(t)
	}
	file := filepath.Join(dir, "pinion.yaml")
	harness.WriteFile(t, file, text)
	o.Dir, o.Models = t.TempDir(), append([]string{"--config", file}, o.Models...)
	s = harness.Start(t, o)
	harness.WaitModels(t, s)
	return s, dir
}

// callingModel calls the model that it is told to.
const callingModel = `
import os, threading
import cog

class Runner(cog.BaseRunner):
    def setup(self) -> None:
        try:
            cog.call("b")
        except cog.CallError as error:
            print("setup:", error, flush=True)

    def run(self, model: str = "b", text: str = "", catch: bool = False, how: str = "") -> str:
        if how == "thread":
            got = []
            thread = threading.Thread(target=lambda: got.append(cog.call(model, text=text)))
            thread.start()
            thread.join()
            return got[0]
        if how == "leave":
            threading.Thread(target=lambda: cog.call(model, text=text), daemon=True).start()
            open("gate").read()
            return "left"
        if how == "die":
            threading.Thread(target=lambda: cog.call(model, text=text), daemon=True).start()
            open("gate").read()
            os.abort()
        if how == "fork":
            pid = os.fork()
            if pid == 0:
                try:
                    cog.call(model, text=text)
                except cog.CallError as error:
                    print("child:", error, flush=True)
                os._exit(0)
            os.waitpid(pid, 0)
            return ""
        if how == "wait":
            print("caller waits", flush=True)
            open("gate").read()
        try:
            return "a got " + cog.call(model, text=text)
        except cog.CallError as error:
            if not catch:
                raise
            return "caught " + str(error)
`

// calledModel is called.
const calledModel = `
import cog, sys

class Runner(cog.BaseRunner):
    def run(self, text: str) -> str:
        if text == "fail":
            raise ValueError("no such text")
        if text == "back":
            return cog.call("a", text="")
        if text == "gate":
            print("b begins", flush=True)
            try:
                open("gate").read()
            except cog.CancelationException:
                print("b was canceled", flush=True)
                raise
        return f"b on 3.{sys.version_info.minor} said {text}"
`

func callingPair(t testing.TB, arguments ...string) (s *harness.Server, dir string) {
	t.Helper()
	return callingModels(t, map[string]string{"a": callingModel, "b": calledModel}, nil, harness.Options{Args: arguments})
}

// failedWith checks how a prediction failed.
func failedWith(t testing.TB, a harness.Answer, want string) {
	t.Helper()
	var got struct{ Status, Error string }
	harness.Decode(t, a, &got)
	assert.True(t, got.Status == "failed" && got.Error == want, "got %s\nwant the error %s", a, want)
}

// TestCalls_ModelCallsAnother, which runs on another Python. Its errors are the caller's, which may catch them. A
// cycle, an unknown model, and a call without a prediction are refused.
func TestCalls_ModelCallsAnother(t *testing.T) {
	t.Parallel()
	s, _ := callingPair(t)
	said := fmt.Sprintf("b on 3.%d said hello", harness.NewestPython(t).Minor)
	assert.Equal(t, "the output", harness.PredictBy(s, "a", harness.Input{"text": "hello"}).Text(t), "a got "+said)
	assert.Equal(t, "in a thread", harness.PredictBy(s, "a", harness.Input{"text": "hello", "how": "thread"}).Text(t),
		said)
	for _, c := range []struct {
		in   harness.Input
		want string
	}{
		{harness.Input{"text": "fail"}, "ValueError: no such text"},
		{harness.Input{"text": "back"}, `model "a" is already among its callers: a → b → a`},
		{harness.Input{"model": "a"}, `model "a" is already among its callers: a → a`},
		{harness.Input{"model": "c"}, `unknown model "c": this server has "a", "b"`},
		{harness.Input{"model": "bb"}, `unknown model "bb": this server has "a", "b"; did you mean "b"?`},
	} {
		failedWith(t, harness.PredictBy(s, "a", c.in), c.want)
		c.in["catch"] = true
		assert.Equal(t, "caught", harness.PredictBy(s, "a", c.in).Text(t), "caught "+c.want)
	}
	harness.PredictBy(s, "a", harness.Input{"how": "fork"})
	s.WaitLog("child: cog.call does not work in a process that the model forked")
	s.WaitLog("setup: cog.call works only while a prediction runs")
}

// TestCall_IsValidated as a client's request.
func TestCall_IsValidated(t *testing.T) {
	t.Parallel()
	s, _ := callingModels(t, map[string]string{
		"a": "import cog\n\ndef run(n: int) -> int:\n    return cog.call('b', n=n)\n",
		"b": "import cog\n\ndef run(n: int = cog.Input(le=3)) -> int:\n    return n + 1\n",
	}, map[string]string{"a": ", predictor: run.py:run", "b": ", predictor: run.py:run"}, harness.Options{})
	assert.Equal(t, "the output", outputText(t, harness.PredictBy(s, "a", harness.Input{"n": 3})), "4")
	var bad struct{ Error string }
	harness.Decode(t, harness.PredictBy(s, "a", harness.Input{"n": 4}), &bad)
	assert.True(t, strings.HasPrefix(bad.Error, "input n: ") && strings.Contains(bad.Error, "3"),
		`the error is %q, want it starting with "input n: " and with "3"`, bad.Error)
}

// outputText is the JSON of an output.
func outputText(t testing.TB, a harness.Answer) string {
	t.Helper()
	assert.EqualNow(t, a.String(), a.Status, "succeeded")
	return string(bytes.TrimSpace(a.Output))
}

func TestCalls_OneModelCallsNone(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", callingModel)
	s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:Runner"})
	failedWith(t, harness.PredictBy(s, "", harness.Input{}), `cannot call model "b": this server has only one model`)
}

// TestCall_EndsWithItsCaller: the called prediction is canceled when the caller is, when the caller ends, and when its
// process dies.
func TestCall_EndsWithItsCaller(t *testing.T) {
	t.Parallel()
	s, dir := callingPair(t, "--queue", "4") // for what comes while a canceled call ends
	harness.MakeFIFO(t, filepath.Join(dir, "b"), "gate")
	open := harness.MakeFIFO(t, filepath.Join(dir, "a"), "gate")
	ended := 0
	isCanceled := func(how string) {
		t.Helper()
		ended++
		assert.Eventually(t, "the call is canceled: "+how, func() bool { return s.Log.Count("b was canceled") == ended })
		harness.WantStatus(t, how+": then b says", harness.PredictBy(s, "b", harness.Input{"text": "next"}), "succeeded")
	}
	called := func() {
		t.Helper()
		assert.Eventually(t, "b is called", func() bool { return s.Log.Count("b begins") == ended+1 })
	}

	answer := make(chan harness.Answer, 1)
	go func() {
		answer <- s.Do(http.MethodPut, "/models/a/predictions/x", map[string]any{"input": harness.Input{"text": "gate"}})
	}()
	called()
	harness.WantCode(t, "cancel", s.Do(http.MethodPost, "/models/a/predictions/x/cancel", nil), http.StatusOK)
	harness.WantStatus(t, "the caller ended with", harness.Receive(t, answer), "canceled")
	isCanceled("its caller is")

	go func() { answer <- harness.PredictBy(s, "a", harness.Input{"text": "gate", "how": "leave"}) }()
	called()
	open()
	assert.Equal(t, "the output", harness.Receive(t, answer).Text(t), "left")
	isCanceled("its caller has ended")

	go func() { answer <- harness.PredictBy(s, "a", harness.Input{"text": "gate", "how": "die"}) }()
	called()
	open()
	harness.WantStatus(t, "the answer", harness.Receive(t, answer), "failed")
	isCanceled("its caller has died")
}

func TestCalls_CancelReachesQueuedCall(t *testing.T) {
	t.Parallel()
	s, dir := callingPair(t, "--queue", "4")
	open := harness.MakeFIFO(t, filepath.Join(dir, "b"), "gate")
	first, answer := make(chan harness.Answer, 1), make(chan harness.Answer, 1)
	go func() { first <- harness.PredictBy(s, "b", harness.Input{"text": "gate"}) }()
	s.WaitLog("b begins")
	go func() {
		answer <- s.Do(http.MethodPut, "/models/a/predictions/x", map[string]any{"input": harness.Input{"text": "queued"}})
	}()
	assert.Eventually(t, "the call waits", func() bool { return modelEntries(t, s)["b"].Queue.Length == 1 })
	s.Do(http.MethodPost, "/models/a/predictions/x/cancel", nil)
	harness.WantStatus(t, "the caller ended with", harness.Receive(t, answer), "canceled")
	assert.Eventually(t, "no call waits", func() bool { return modelEntries(t, s)["b"].Queue.Length == 0 })
	open()
	harness.WantStatus(t, "the first ended with", harness.Receive(t, first), "succeeded")
}

// TestCall_LoadsItsModel, and is refused where a model is not to be loaded by requests.
func TestCall_LoadsItsModel(t *testing.T) {
	t.Parallel()
	s, _ := callingModels(t, map[string]string{"a": callingModel, "b": calledModel, "c": calledModel},
		map[string]string{"b": ", load: on-demand", "c": ", load: manual"}, harness.Options{Args: []string{"--reload"}})
	state := modelEntries(t, s)["b"].State
	assert.TrueNow(t, state == "unloaded", "b is %s, want unloaded", state)
	harness.WantStatus(t, "the answer", harness.PredictBy(s, "a", harness.Input{"text": "hello"}), "succeeded")
	hasState(t, s, "b", "ready")
	failedWith(t, harness.PredictBy(s, "a", harness.Input{"model": "c"}),
		"Model c is not loaded: POST /models/c/load loads it")
}

// TestCalls_GoOnWhileServerDrains: a prediction that is in flight may still call.
func TestCalls_GoOnWhileServerDrains(t *testing.T) {
	t.Parallel()
	s, dir := callingPair(t)
	open := harness.MakeFIFO(t, filepath.Join(dir, "a"), "gate")
	answer := make(chan harness.Answer, 1)
	go func() { answer <- harness.PredictBy(s, "a", harness.Input{"text": "late", "how": "wait"}) }()
	s.WaitLog("caller waits")
	s.Signal(syscall.SIGTERM)
	s.WaitLog("shutting down")
	open()
	if got := harness.Receive(t, answer); got.Status != "succeeded" || !strings.Contains(got.Text(t), "said late") {
		t.Errorf(`got %s, want Status succeeded and Text with "said late"`, got)
	}
	s.Ended(0)
}

// TestCalls_AreTraced: the called prediction's spans are below the span in which the caller runs.
func TestCalls_AreTraced(t *testing.T) {
	t.Parallel()
	c := harness.StartCollector(t)
	s, _ := callingModels(t, map[string]string{"a": callingModel, "b": calledModel}, nil,
		harness.Options{Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL}})
	s.Do(http.MethodPost, "/models/a/predictions", map[string]any{"input": harness.Input{"text": "x"}}, "traceparent",
		"00-"+harness.ClientTrace+"-"+harness.ClientParent+"-01")
	s.Stop()
	parents, ids := map[string][]string{}, map[string][]string{}
	for _, span := range c.Spans() {
		if span.TraceID() == harness.ClientTrace {
			parents[span.Name] = append(parents[span.Name], span.ParentID())
			ids[span.Name] = append(ids[span.Name], span.SpanID())
		}
	}
	assert.EqualNow(t, `len(ids["cog.prediction"])`, len(ids["cog.prediction"]), 2)
	assert.EqualNow(t, `len(ids["cog.prediction.invoke"])`, len(ids["cog.prediction.invoke"]), 2)
	below := func(parent string) bool { return slices.Contains(parents["cog.prediction"], parent) }
	assert.True(t, slices.ContainsFunc(ids["cog.prediction.invoke"], below),
		"no prediction is below one of %v: %v, want one", ids["cog.prediction.invoke"], parents)
}

// TestCalls_OfDocuments makes the models that the how-to shows, and runs its command.
func TestCalls_OfDocuments(t *testing.T) {
	t.Parallel()
	text := harness.ReadFile(t, "../docs/how-to/several-models.md")
	code := map[string]string{}
	files := strings.Split(text, "\n    # ")
	for _, shown := range files[1:] {
		name, lines, found := strings.Cut(shown, "/run.py\n")
		if found {
			lines, _, _ = strings.Cut(lines, "\nServe them")
			code[name] = strings.ReplaceAll("\n"+lines, "\n    ", "\n")
		}
	}
	assert.TrueNow(t, len(code) == 3,
		"the page shows the models %v: got %d, want 3", slices.Collect(maps.Keys(code)), len(code))
	s, _ := callingModels(t, code, nil, harness.Options{})
	shown := regexp.MustCompile(`(?m)^    curl .* -d '(\{.*"text".*\})' localhost:5000/predictions$`).FindStringSubmatch(
		text)
	assert.TrueNow(t, shown != nil, "the page shows no request")
	var body map[string]any
	harness.FromJSON(t, shown[1], &body)
	var got struct{ Output []string }
	harness.Decode(t, s.Do(http.MethodPost, "/models/search/predictions", body), &got)
	assert.EqualSlices(t, "Output", got.Output, []string{"a", "c", "b"})
}
