package workers

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// methods serves a class of methods.py.
func methods(t testing.TB, class string, python harness.Python) *harness.Server {
	t.Helper()
	return harness.Ready(t, harness.Options{Python: python.Path, Model: "methods.py:" + class})
}

// holdStep begins a prediction whose step runs until open is called.
func holdStep(t testing.TB, s *harness.Server) (gate <-chan harness.Answer, open func()) {
	t.Helper()
	gate = s.Begin("gate", harness.Input{"text": "gate"})
	waitCall(t, s, "step 0 gate")
	return gate, func() { harness.WriteFile(t, s.Dir+"/gate", "") }
}

// calls are the lines that the model has written about its batches.
func calls(t testing.TB, s *harness.Server) []string {
	t.Helper()
	text, err := os.ReadFile(s.Dir + "/calls.txt")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

// beginCalls begins predictions and waits until each is about to call the method. Its batch waits for all of them.
func beginCalls(t testing.TB, s *harness.Server, inputs ...harness.Input) map[string]<-chan harness.Answer {
	t.Helper()
	answers := beginAll(t, s, inputs...)
	for text := range answers {
		waitCall(t, s, "calls "+text)
	}
	return answers
}

func waitCall(t testing.TB, s *harness.Server, line string) {
	t.Helper()
	assert.Eventually(t, line, func() bool { return slices.Contains(calls(t, s), line) })
}

func TestMethods_CallsMeetWhileAStepRuns(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) { eachKind(t, python, testCallsMeet) })
}

// eachKind runs a test with predictions on an event loop and on threads.
func eachKind(t *testing.T, python harness.Python, test func(*testing.T, *harness.Server)) {
	t.Helper()
	for _, class := range []string{"Runner", "Threads"} {
		t.Run(class, func(t *testing.T) { test(t, methods(t, class, python)) })
	}
}

func testCallsMeet(t *testing.T, s *harness.Server) {
	gate, open := holdStep(t, s)
	others := beginCalls(t, s, append(texts("a", "b", "c"), harness.Input{"text": "d", "key": 1})...)
	open()
	harness.WantOutput(t, "gate", harness.Receive(t, gate), "GATE")
	for text, a := range receiveAll(t, others) {
		harness.WantOutput(t, text, a, strings.ToUpper(text))
		assert.Contains(t, "logs of "+text, a.Logs, "mine "+text)
		if text != "d" {
			assert.Contains(t, "logs of "+text, a.Logs, "step of a b c")
		}
		assert.True(t, strings.Count(a.Logs, "mine") == 1,
			"logs of %s: got %q, want no line of another prediction", text, a.Logs)
		assert.Contains(t, "metrics of "+text, string(a.Body), `"steps":1`)
	}
	for _, want := range []string{"step 0 a b c", "step 1 d"} {
		got := calls(t, s)
		assert.True(t, slices.Contains(got, want), "calls: got %q, want %q among them", got, want)
	}
}

func TestMethods_PredictionHasTheSizesOfItsBatches(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) { eachKind(t, python, testSizesOfBatches) })
	alone := methods(t, "Alone", harness.Pythons(t)[0]).Input(harness.Input{"text": "a"})
	wantSizes(t, "one at a time", alone, `null`)
}

func testSizesOfBatches(t *testing.T, s *harness.Server) {
	gate, open := holdStep(t, s)
	long := harness.Input{"text": "long", "steps": 2} // its second step is alone
	others := beginCalls(t, s, long, harness.Input{"text": "b"}, harness.Input{"text": "bad"},
		harness.Input{"text": "key", "key": 1})
	open()
	wantSizes(t, "gate", harness.Receive(t, gate), `{"step": {"calls": 1, "batch_size": 1}}`)
	for text, a := range receiveAll(t, others) {
		wantSizes(t, text, a, map[string]string{
			"long": `{"step": {"calls": 2, "batch_size": 2}}`,
			"b":    `{"step": {"calls": 1, "batch_size": 3}}`,
			"bad":  `{"step": {"calls": 1, "batch_size": 3}}`,
			"key":  `{"step": {"calls": 1, "batch_size": 1}}`,
		}[text])
	}
}

// wantSizes checks what a prediction tells of the batches of its calls.
func wantSizes(t *testing.T, what string, a harness.Answer, want string) {
	t.Helper()
	got := assert.Must(json.Marshal(a.Metrics["method_batches"]))(t)
	harness.EqualJSON(t, what+": method_batches", got, want)
}

func TestMethods_MaxSizeAndCostBoundABatch(t *testing.T) {
	t.Parallel()
	eachKind(t, harness.Pythons(t)[0], testMaxSizeAndCostBoundABatch)
}

func testMaxSizeAndCostBoundABatch(t *testing.T, s *harness.Server) {
	gate, open := holdStep(t, s)
	others := beginCalls(t, s, texts("a", "b", "c", "d", "e")...)
	open()
	harness.Receive(t, gate)
	receiveAll(t, others)
	var sizes []int
	for _, line := range calls(t, s) {
		if texts, ok := strings.CutPrefix(line, "step 0 "); ok {
			sizes = append(sizes, len(strings.Fields(texts)))
		}
	}
	assert.EqualSlices(t, "sizes of batches", sizes, []int{1, 4, 1})
	harness.WantOutput(t, "an item above max_cost", s.Input(harness.Input{"text": "longer than ten", "how": "budget"}),
		"LONGER THAN TEN")
}

func TestMethods_AnErrorIsOfItsItem(t *testing.T) {
	t.Parallel()
	eachKind(t, harness.Pythons(t)[0], testAnErrorIsOfItsItem)
}

func testAnErrorIsOfItsItem(t *testing.T, s *harness.Server) {
	for _, c := range []struct{ bad, own, other string }{
		{"bad", "no bad", ""},
		{"raises", "raised in step", "raised in step"},
		{"short", "output must have 2 elements, got 1", "output must have 2 elements, got 1"},
	} {
		harness.WriteFile(t, s.Dir+"/calls.txt", "")
		gate, open := holdStep(t, s)
		others := beginCalls(t, s, texts(c.bad, "good")...)
		open()
		harness.Receive(t, gate)
		got := receiveAll(t, others)
		assert.Contains(t, c.bad, got[c.bad].Error, c.own)
		assert.True(t, got["good"].Error == "" == (c.other == "") && strings.Contains(got["good"].Error, c.other),
			"beside %s: got error %q, want %q", c.bad, got["good"].Error, c.other)
		assert.NoError(t, os.Remove(s.Dir+"/gate"))
	}
	harness.WantOutput(t, "after errors", s.Input(harness.Input{"text": "x", "how": "halves"}), "X")
	assert.Contains(t, "an async method", s.Fail(harness.Input{"text": "raises", "how": "halves"}).Error,
		"raised in halves")
}

// TestMethods_OddValuesFailTheirCallAlone: values whose own methods fail or change, in the code that forms batches.
func TestMethods_OddValuesFailTheirCallAlone(t *testing.T) {
	t.Parallel()
	eachKind(t, harness.Pythons(t)[0], testOddValuesFailTheirCallAlone)
}

func testOddValuesFailTheirCallAlone(t *testing.T, s *harness.Server) {
	pid := s.Health().Workers[0].PID
	for text, want := range map[string]string{"turning": "", "classless": "classless", "error": "ClasslessError"} {
		harness.WriteFile(t, s.Dir+"/calls.txt", "")
		gate, open := holdStep(t, s)
		others := beginCalls(t, s, texts("a", text, "b")...)
		for cost, want := range map[string]string{
			"huge": "got a larger one from the attribute tokens", "infinite": "got a larger one", "nan": "got nan",
			"negative": "got -1",
		} {
			a := s.Fail(harness.Input{"text": cost, "how": "budget"})
			assert.Contains(t, "error of a "+cost+" cost", a.Error, "Base.budget: a cost must be a finite number of 0 or more, "+want)
		}
		open()
		harness.WantOutput(t, "gate", harness.Receive(t, gate), "GATE")
		got := receiveAll(t, others)
		harness.WantOutput(t, "a beside "+text, got["a"], "A")
		harness.WantOutput(t, "b beside "+text, got["b"], "B")
		assert.Equal(t, text+" failed", got[text].Error != "", want != "")
		assert.Contains(t, "error of "+text, got[text].Error, want)
		harness.WantOutput(t, "costs after "+text, s.Input(harness.Input{"text": "c", "how": "budget"}), "C")
		assert.NoError(t, os.Remove(s.Dir+"/gate"))
	}
	assert.Equal(t, "pid of the worker", s.Health().Workers[0].PID, pid)
}

func TestMethods_BatchHasWhatContextsHaveInCommon(t *testing.T) {
	t.Parallel()
	eachKind(t, harness.Pythons(t)[0], func(t *testing.T, s *harness.Server) {
		idle := s.Begin("idle", harness.Input{"text": "idle"})
		waitCall(t, s, "calls idle")
		answers := make(chan harness.Answer, 2)
		for _, text := range []string{"a", "b"} {
			go func() {
				answers <- s.Create(map[string]any{
					"input":   harness.Input{"text": text, "how": "context"},
					"context": map[string]string{"of": text, "tenant": "acme"},
				})
			}()
			waitCall(t, s, "calls "+text)
		}
		harness.WriteFile(t, s.Dir+"/gate", "")
		harness.WantOutput(t, "idle", harness.Receive(t, idle), "IDLE")
		for range 2 {
			harness.WantOutput(t, "the context in a batch of two", harness.Receive(t, answers), "tenant=acme")
		}
	})
}

func TestMethods_CanceledCallLeaves(t *testing.T) {
	t.Parallel()
	eachKind(t, harness.Pythons(t)[0], testCanceledCallLeaves)
}

func testCanceledCallLeaves(t *testing.T, s *harness.Server) {
	gate, open := holdStep(t, s)
	others := beginCalls(t, s, texts("a", "b", "c")...)
	for id, text := range map[string]string{"item-1": "b", "gate": "gate"} {
		s.Cancel(id)
		waitLeft(t, s, text)
	}
	open()
	assert.Equal(t, "status of the call in the running step", harness.Receive(t, gate).Status, "canceled")
	for text, a := range receiveAll(t, others) {
		assert.Equal(t, "status of "+text, a.Status, map[bool]string{true: "canceled", false: "succeeded"}[text == "b"])
	}
	waitCall(t, s, "step 0 a c")
}

func TestMethods_FaultsAreToldAtLoadOrCall(t *testing.T) {
	t.Parallel()
	python := harness.Pythons(t)[0]
	assert.Contains(t, "a call without its item", methods(t, "Missing", python).Fail(harness.Input{"text": "a"}).Error,
		"step() missing 1 required positional argument: 'items'")
	harness.WantOutput(t, "batches of one", methods(t, "Alone", python).Input(harness.Input{"text": "a"}), "A")
	harness.WantOutput(t, "other threads, loops and processes",
		methods(t, "Mixed", python).Input(harness.Input{"text": "a"}), "A A A")
	for class, want := range map[string]string{
		"CostOfSelf": "CostOfSelf.step: @batch calls cost with 1 argument, one element of item, and this function takes 2",
		"Static":     "Static.step: @batch forms the batches of one object, so a method with it takes self",
		"NoList":     "NoList.step: @batch requires a list parameter",
		"Both":       "Both.run and Base.step both have @batch",
	} {
		s := harness.Start(t, harness.Options{Python: python.Path, Model: "methods.py:" + class})
		assert.Contains(t, class, s.WaitHealth("SETUP_FAILED").Setup.Logs, want)
	}
}
