package api

import (
	"net/http"
	"path/filepath"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestLoading_IdleTimeout: the processes of a model that no client uses are gone, and the next request has new ones.
func TestLoading_IdleTimeout(t *testing.T) {
	t.Parallel()
	s, dir := modelsFile(t, "models: {b: {path: b}, a: {path: a, idle-timeout: 200ms}}\n")
	harness.WaitModels(t, s)
	pid := processOf(t, s, "a")
	hasState(t, s, "a", "unloaded")
	assert.False(t, harness.Alive(pid), "the process is alive after the unload")
	harness.WantCode(t, "readiness", s.Do(http.MethodGet, "/readyz", nil), http.StatusOK)
	// A prediction that runs is a use, however long it takes.
	open := harness.MakeFIFO(t, filepath.Join(dir, "a"), "gate")
	running := make(chan harness.Answer, 1)
	go func() { running <- harness.PredictBy(s, "a", harness.Input{"gate": "gate"}) }()
	s.WaitLog("waiting gate")
	for range 3 {
		harness.SaidBy(t, harness.PredictBy(s, "b", harness.Input{}))
	}
	assert.Equal(t, "a while a prediction runs", modelEntries(t, s)["a"].State, "ready")
	open()
	harness.SaidBy(t, harness.Receive(t, running))
	hasState(t, s, "a", "unloaded")
}

// TestLoading_ModelsMemory: the least recently used model that is idle makes room, one that runs does not, and what can
// never fit is refused.
func TestLoading_ModelsMemory(t *testing.T) {
	t.Parallel()
	s, dir := modelsFile(t, `
memory: 10GiB
models:
  a: {path: a, load: on-demand, memory: 6GiB}
  b: {path: b, load: on-demand, memory: 6GiB}
  huge: {path: b, load: on-demand, memory: 11GiB}
`, "--queue-timeout", "2s")
	first := processOf(t, s, "a")
	open := harness.MakeFIFO(t, filepath.Join(dir, "b"), "gate")
	running := make(chan harness.Answer, 1)
	go func() { running <- harness.PredictBy(s, "b", harness.Input{"gate": "gate"}) }()
	s.WaitLog("waiting gate")
	a := modelEntries(t, s)["a"]
	assert.True(t, a.State == "unloaded" && !harness.Alive(first),
		"a is %+v, its process lives: %v, want State unloaded and harness.Alive(first) false", a, harness.Alive(first))
	harness.WantAnswer(t, "beside one that runs", harness.PredictBy(s, "a", harness.Input{}),
		http.StatusServiceUnavailable,
		"a needs 6.0 GiB of the 10.0 GiB that the models may have together, and b has 6.0 GiB and cannot be unloaded now")
	harness.WantAnswer(t, "more than there is", harness.PredictBy(s, "huge", harness.Input{}),
		http.StatusServiceUnavailable, "huge needs 11.0 GiB of the 10.0 GiB")
	open()
	harness.SaidBy(t, harness.Receive(t, running))
	assert.Eventually(t, "a has room",
		func() bool { return harness.PredictBy(s, "a", harness.Input{}).Status == "succeeded" })
	assert.Equal(t, "b", modelEntries(t, s)["b"].State, "unloaded")
}

// TestLoading_ModelThatIsUsedAllTheTimeMakesRoomInTurn: a request for another waits until it has ended what it runs,
// and those that come for it meanwhile wait until it is loaded again. None fails.
func TestLoading_ModelThatIsUsedAllTheTimeMakesRoomInTurn(t *testing.T) {
	t.Parallel()
	s, dir := modelsFile(t, `
memory: 10GiB
models:
  a: {path: a, load: on-demand, memory: 6GiB}
  b: {path: b, load: on-demand, memory: 6GiB, queue: 10}
`, "--queue-timeout", "10m")
	ask := func(model string, input harness.Input) <-chan harness.Answer {
		answer := make(chan harness.Answer, 1)
		go func() { answer <- harness.PredictBy(s, model, input) }()
		return answer
	}
	var answers []<-chan harness.Answer
	var gates []func()
	for i, gate := range []string{"first", "second"} {
		gates = append(gates, harness.MakeFIFO(t, filepath.Join(dir, "b"), gate))
		answers = append(answers, ask("b", harness.Input{"gate": gate}))
		if i == 0 {
			s.WaitLog("waiting first")
		}
		assert.Eventually(t, "the second is queued", func() bool { return modelEntries(t, s)["b"].Queue.Length == i })
	}
	of := ask("a", harness.Input{})
	s.WaitLog("the model's predictions are ended, to make room for another model")
	late := ask("b", harness.Input{})
	for i, open := range gates {
		open()
		harness.SaidBy(t, harness.Receive(t, answers[i]))
	}
	harness.SaidBy(t, harness.Receive(t, of))
	harness.SaidBy(t, harness.Receive(t, late))
	assert.Equal(t, "a", modelEntries(t, s)["a"].State, "unloaded")
}
