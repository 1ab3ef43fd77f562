package workers

import (
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// waitLeft waits until a prediction has left its call by an exception.
func waitLeft(t testing.TB, s *harness.Server, text string) {
	t.Helper()
	assert.Eventually(t, text+" leaves", func() bool {
		return slices.ContainsFunc(calls(t, s), func(line string) bool {
			return strings.HasPrefix(line, "left "+text+" Cancel")
		})
	})
}

func TestMethods_ConcurrentBatchesRunAtOnce(t *testing.T) {
	t.Parallel()
	eachKind(t, harness.Pythons(t)[0], func(t *testing.T, s *harness.Server) {
		a := s.Begin("a", harness.Input{"text": "a", "how": "pair"})
		harness.WantOutput(t, "the second", s.Input(harness.Input{"text": "b", "how": "pair"}), "B")
		harness.WantOutput(t, "the first", harness.Receive(t, a), "A")
	})
}

func TestMethods_HalvesOfAFailedBatchRunAgain(t *testing.T) {
	t.Parallel()
	eachKind(t, harness.Pythons(t)[0], func(t *testing.T, s *harness.Server) {
		gate := s.Begin("gate", harness.Input{"text": "gate", "how": "halves"})
		waitCall(t, s, "halves gate")
		var inputs []harness.Input
		for _, text := range []string{"a", "raises", "z"} {
			inputs = append(inputs, harness.Input{"text": text, "how": "halves"})
		}
		others := beginCalls(t, s, inputs...)
		harness.WriteFile(t, s.Dir+"/gate", "")
		harness.WantOutput(t, "gate", harness.Receive(t, gate), "GATE")
		got := receiveAll(t, others)
		harness.WantOutput(t, "a", got["a"], "A")
		harness.WantOutput(t, "z", got["z"], "Z")
		assert.Contains(t, "the one at fault", got["raises"].Error, "raised in halves")
		for _, want := range []string{"halves a raises z", "halves raises"} {
			waitCall(t, s, want)
		}
	})
}

// TestMethods_PauseBetweenCallsHoldsUpNoOther: a prediction that got a result and does not call again, as in a tool
// call.
func TestMethods_PauseBetweenCallsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		eachKind(t, python, func(t *testing.T, s *harness.Server) {
			paused := s.Begin("paused", harness.Input{"text": "pauses", "how": "budget"})
			waitCall(t, s, "results pauses")
			harness.WantOutput(t, "beside a pause", s.Input(harness.Input{"text": "a", "how": "budget", "steps": 100}), "A")
			harness.WriteFile(t, s.Dir+"/gate", "")
			harness.WantOutput(t, "after the pause", harness.Receive(t, paused), "PAUSES")
		})
	})
}

func TestMethods_MaxWaitHoldsABatchForThoseThatRun(t *testing.T) {
	t.Parallel()
	eachKind(t, harness.Pythons(t)[0], func(t *testing.T, s *harness.Server) {
		idle := s.Begin("idle", harness.Input{"text": "idle"})
		waitCall(t, s, "calls idle")
		harness.WantOutput(t, "an adaptive wait", s.Input(harness.Input{"text": "a", "how": "budget"}), "A")
		b := s.Begin("b", harness.Input{"text": "b"})
		waitCall(t, s, "calls b")
		harness.WriteFile(t, s.Dir+"/gate", "")
		harness.WantOutput(t, "idle", harness.Receive(t, idle), "IDLE")
		harness.WantOutput(t, "b", harness.Receive(t, b), "B")
		waitCall(t, s, "step 0 b idle")
	})
}

func TestMethods_FullBatchLeavesBesideAPredictionThatCallsNothing(t *testing.T) {
	t.Parallel()
	eachKind(t, harness.Pythons(t)[0], func(t *testing.T, s *harness.Server) {
		gate, open := holdStep(t, s)
		others := beginCalls(t, s, texts("a", "b", "c", "d")...)
		late := s.Begin("late", harness.Input{"text": "late"})
		waitCall(t, s, "calls late")
		open()
		harness.WantOutput(t, "gate", harness.Receive(t, gate), "GATE")
		for text, a := range receiveAll(t, others) {
			harness.WantOutput(t, text, a, strings.ToUpper(text))
		}
		harness.WriteFile(t, s.Dir+"/late", "")
		harness.WantOutput(t, "late", harness.Receive(t, late), "LATE")
	})
}

func TestMethods_KeyThatCannotBeComparedFailsItsCall(t *testing.T) {
	t.Parallel()
	eachKind(t, harness.Pythons(t)[0], func(t *testing.T, s *harness.Server) {
		gate, open := holdStep(t, s)
		odd := beginCalls(t, s, texts("odd")...)
		odder := s.Begin("odder", harness.Input{"text": "odder"})
		waitCall(t, s, "calls odder")
		open()
		harness.WantOutput(t, "gate", harness.Receive(t, gate), "GATE")
		assert.Contains(t, "the second such key", harness.Receive(t, odder).Error, "a list parameter: ValueError: odd")
		harness.WantOutput(t, "the first one", receiveAll(t, odd)["odd"], "ODD")
	})
}

func TestMethods_CallOfAPredictionThatTimesOutLeaves(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"Runner", "Threads"} {
		s := harness.Ready(t, harness.Options{
			Python: harness.Pythons(t)[0].Path, Model: "methods.py:" + class, Args: []string{"--predict-timeout", "1s"},
		})
		gate, open := holdStep(t, s)
		a := s.Begin("a", harness.Input{"text": "a"})
		for _, answer := range []<-chan harness.Answer{gate, a} {
			assert.True(t, harness.Receive(t, answer).Status != "succeeded", "%s: got succeeded, want a timeout", class)
		}
		waitLeft(t, s, "a")
		open()
		harness.WantOutput(t, "the next", s.Input(harness.Input{"text": "b"}), "B")
		waitCall(t, s, "step 0 b")
	}
}

func TestMethods_CallOfAClientThatDisconnectsLeaves(t *testing.T) {
	t.Parallel()
	eachKind(t, harness.Pythons(t)[0], func(t *testing.T, s *harness.Server) {
		gate, open := holdStep(t, s)
		client := s.Request("a", harness.Input{"text": "a"})
		waitCall(t, s, "calls a")
		client.Leave()
		waitLeft(t, s, "a")
		others := beginCalls(t, s, texts("b")...)
		open()
		harness.Receive(t, gate)
		harness.WantOutput(t, "b", receiveAll(t, others)["b"], "B")
		waitCall(t, s, "step 0 b")
	})
}
