package workers

import (
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// eachNested runs a test with a model whose batched methods call each other, on an event loop and on threads.
func eachNested(t *testing.T, test func(*testing.T, *harness.Server)) {
	t.Helper()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, class := range []string{"NestedAsync", "NestedThreads"} {
			t.Run(class, func(t *testing.T) { test(t, methods(t, class, python)) })
		}
	})
}

// TestMethods_BatchesMayCallOtherMethods: and a call that would wait for its own batch is an error at once. Two methods
// that call each other are, too, as they could wait for each other.
func TestMethods_BatchesMayCallOtherMethods(t *testing.T) {
	t.Parallel()
	eachNested(t, func(t *testing.T, s *harness.Server) {
		for _, how := range []string{"plain", "gathered", "kept"} {
			harness.WantOutput(t, how, s.Input(harness.Input{"text": "a", "how": how}), "A")
		}
		for _, how := range []string{"again", "ping", "again", "pong"} {
			assert.Contains(t, how, s.Fail(harness.Input{"text": "a", "how": how}).Error,
				"RuntimeError: Nested.", " is called in a batch of Nested.", "which is a deadlock")
		}
		harness.WantOutput(t, "after errors", s.Input(harness.Input{"text": "a", "how": "plain"}), "A")
	})
}

// TestMethods_KeptBySetupFormBatches: what setup keeps of a method forms batches, and runs one at a time.
func TestMethods_KeptBySetupFormBatches(t *testing.T) {
	t.Parallel()
	eachNested(t, func(t *testing.T, s *harness.Server) {
		_, open := holdStep(t, s)
		inputs := texts("a", "b", "c")
		for _, input := range inputs {
			input["how"] = "kept"
		}
		others := beginCalls(t, s, inputs...)
		open()
		for text, a := range receiveAll(t, others) {
			harness.WantOutput(t, text, a, strings.ToUpper(text))
		}
		waitCall(t, s, "step 0 a b c")
	})
}

// TestMethods_CallInABatchIsOfAllItsPredictions: each counts the calls that the batch of its own call makes.
func TestMethods_CallInABatchIsOfAllItsPredictions(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := methods(t, "NestedAsync", python)
		_, open := holdStep(t, s)
		begin := func(text string) <-chan harness.Answer {
			return s.Begin(text, harness.Input{"text": text, "how": "gathered"})
		}
		first := begin("first")
		waitCall(t, s, "gathered first")
		a, b := begin("a"), begin("b")
		waitCall(t, s, "calls a")
		waitCall(t, s, "calls b")
		open()
		wantSizes(t, "first", harness.Receive(t, first),
			`{"gathered": {"calls": 1, "batch_size": 1}, "step": {"calls": 1, "batch_size": 1}}`)
		for _, answer := range []<-chan harness.Answer{a, b} {
			wantSizes(t, "in a batch of two", harness.Receive(t, answer),
				`{"gathered": {"calls": 1, "batch_size": 2}, "step": {"calls": 2, "batch_size": 2}}`)
		}
	})
}

// TestMethods_ThreadOutlivesItsPrediction: it may still call the method.
func TestMethods_ThreadOutlivesItsPrediction(t *testing.T) {
	t.Parallel()
	eachNested(t, func(t *testing.T, s *harness.Server) {
		harness.WantOutput(t, "the prediction", s.Input(harness.Input{"text": "a", "how": "later"}), "started")
		harness.WriteFile(t, s.Dir+"/gate", "")
		waitCall(t, s, "later A")
		harness.WantOutput(t, "another", s.Input(harness.Input{"text": "b"}), "B")
	})
}
