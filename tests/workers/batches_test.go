package workers

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// batched serves a class of batches.py.
func batched(t testing.TB, class string, python harness.Python, args ...string) *harness.Server {
	t.Helper()
	return harness.Ready(t, harness.Options{Python: python.Path, Model: "batches.py:" + class, Args: args})
}

// batches are the lines that the model has written down.
func batches(t testing.TB, s *harness.Server) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Dir, "batches.txt"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// closeGate has a prediction run until open is called.
func closeGate(t testing.TB, s *harness.Server) (gate <-chan harness.Answer, open func()) {
	t.Helper()
	gate = s.Begin("gate", harness.Input{"text": "gate"})
	assert.Eventually(t, "the gate is closed", func() bool {
		return slices.ContainsFunc(batches(t, s), func(line string) bool { return strings.Contains(line, "gate") })
	})
	return gate, func() { harness.WriteFile(t, filepath.Join(s.Dir, "gate"), "") }
}

// beginAll begins a prediction for each input, one after the other, behind a gate.
func beginAll(t testing.TB, s *harness.Server, inputs ...harness.Input) map[string]<-chan harness.Answer {
	t.Helper()
	answers := map[string]<-chan harness.Answer{}
	for i, in := range inputs {
		answers[fmt.Sprint(in["text"])] = s.Begin(fmt.Sprintf("item-%d", i), in)
		harness.WaitInFlight(t, s, i+2)
	}
	return answers
}

func texts(values ...string) []harness.Input {
	inputs := make([]harness.Input, len(values))
	for i, v := range values {
		inputs[i] = harness.Input{"text": v}
	}
	return inputs
}

// receiveAll returns the answers, by their texts.
func receiveAll(t testing.TB, answers map[string]<-chan harness.Answer) map[string]harness.Answer {
	t.Helper()
	byName := map[string]harness.Answer{}
	for text, a := range answers {
		byName[text] = harness.Receive(t, a)
	}
	return byName
}

// TestBatches_WaitingPredictionsAreBatch: what comes while the model is busy leaves together, in order, with equal
// keys, and each prediction has its own answer.
func TestBatches_WaitingPredictionsAreBatch(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, class := range []string{"Runner", "Tasks"} {
			s := batched(t, class, python)
			gate, open := closeGate(t, s)
			answers := beginAll(t, s, harness.Input{"text": "a"}, harness.Input{"text": "b", "times": 2},
				harness.Input{"text": "c", "times": 1},
				harness.Input{"text": "d", "times": 2})
			open()
			harness.Receive(t, gate)
			received := receiveAll(t, answers)
			for text, want := range map[string]string{"a": "A", "b": "BB", "c": "C", "d": "DD"} {
				harness.WantOutput(t, text, received[text], want)
				m := received[text].Metrics
				assert.True(t, m["batch_size"] == 2.0 && m["queue_time"] != nil && m["predict_time"] != nil,
					`%s: metrics are %v, want m["batch_size"] 2.0, m["queue_time"] non-nil and m["predict_time"] non-nil`, text, m)
				assert.Equal(t, text+": logs", received[text].Logs, "batch of 2\n")
			}
			assert.EqualSlices(t, class+": batches", batches(t, s), []string{"1 gate", "1 a c", "2 b d"})
		}
	})
}

// TestBatches_BatchHasItsSize: more than the largest batch leave as several; an operator may want smaller ones.
func TestBatches_BatchHasItsSize(t *testing.T) {
	t.Parallel()
	for largest, args := range map[int][]string{8: nil, 3: {"--batch-size", "3", "--queue", "20"}} {
		s := batched(t, "Runner", harness.AnyPython(t), args...)
		gate, open := closeGate(t, s)
		answers := beginAll(t, s, texts("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")...)
		open()
		harness.Receive(t, gate)
		for text, a := range receiveAll(t, answers) {
			harness.WantOutput(t, text, a, strings.ToUpper(text))
		}
		lines := batches(t, s)[1:]
		assert.Equal(t, fmt.Sprintf("batches of at most %d", largest), len(lines), (10+largest-1)/largest)
	}
}

// TestBatches_SettingsWithoutEffectAreNamed: those of a model that has no batches, on the command line or in a variable.
func TestBatches_SettingsWithoutEffectAreNamed(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Model: "echo.py:run", Python: harness.AnyPython(t).Path, Args: []string{"--batch-size", "3"},
		Env: []string{"PINION_BATCH_WAIT=2ms"},
	})
	for _, flag := range []string{"--batch-size", "--batch-wait"} {
		s.WaitLog(flag + " has no effect: the model's predict function has no @cog.batch")
	}
	s = batched(t, "Runner", harness.AnyPython(t), "--batch-size", "3")
	line, ok := s.Log.Find("has no effect")
	assert.False(t, ok, "got %q for a model with batches, want no warning", line.Text)
}

// TestBatches_BadItemFailsAlone, whether it is returned or raised; the rest of its batch is run again.
func TestBatches_BadItemFailsAlone(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"Runner", "Tasks"} {
		s := batched(t, class, harness.AnyPython(t))
		gate, open := closeGate(t, s)
		answers := beginAll(t, s, texts("a", "raise-1", "b", "bad-1", "c")...)
		open()
		harness.Receive(t, gate)
		received := receiveAll(t, answers)
		for _, text := range []string{"a", "b", "c"} {
			harness.WantOutput(t, text, received[text], strings.ToUpper(text))
		}
		harness.WantFailed(t, "raise-1", received["raise-1"], "ValueError: no raise-1 here")
		harness.WantFailed(t, "bad-1", received["bad-1"], "bad-1 alone")
	}
}

// TestBatches_WithoutIsolationAllFail with the cause.
func TestBatches_WithoutIsolationAllFail(t *testing.T) {
	t.Parallel()
	s := batched(t, "Unforgiving", harness.AnyPython(t))
	gate, open := closeGate(t, s)
	answers := beginAll(t, s, texts("a", "raise-1", "b")...)
	open()
	harness.Receive(t, gate)
	for text, a := range receiveAll(t, answers) {
		harness.WantFailed(t, text, a, "ValueError: no raise-1 here")
	}
	assert.EqualSlices(t, "batches", batches(t, s), []string{"gate", "a raise-1 b"})
}

// TestBatches_ResultOfAnotherLengthFailsBatch and says both numbers.
func TestBatches_ResultOfAnotherLengthFailsBatch(t *testing.T) {
	t.Parallel()
	s := batched(t, "Runner", harness.AnyPython(t))
	gate, open := closeGate(t, s)
	answers := beginAll(t, s, texts("a", "short", "b")...)
	open()
	harness.Receive(t, gate)
	for text, a := range receiveAll(t, answers) {
		harness.WantFailed(t, text, a, "3")
		harness.WantFailed(t, text, a, "2")
	}
}

// TestBatches_DeathInBatch: its items run once more, one by one; the one at fault fails with the cause.
func TestBatches_DeathInBatch(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := batched(t, "Runner", python)
		gate, open := closeGate(t, s)
		answers := beginAll(t, s, texts("a", "die", "b")...)
		open()
		harness.Receive(t, gate)
		received := receiveAll(t, answers)
		harness.WantOutput(t, "a", received["a"], "A")
		harness.WantOutput(t, "b", received["b"], "B")
		harness.WantFailed(t, "die", received["die"], "exit")
		assert.EqualSlices(t, "batches", batches(t, s), []string{"1 gate", "1 a die b", "1 a", "1 die", "1 b"})
	})
}

// killWorker kills the first worker, once there is one.
func killWorker(t testing.TB, s *harness.Server) {
	t.Helper()
	assert.Eventually(t, "a worker is there", func() bool {
		pid := s.Worker0()
		return pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil
	})
}

// TestBatches_KilledBatchComesBack: the worker is killed from outside while a batch of three runs.
func TestBatches_KilledBatchComesBack(t *testing.T) {
	t.Parallel()
	s := batched(t, "Runner", harness.AnyPython(t))
	answers := map[string]<-chan harness.Answer{"gate": s.Begin("gate", harness.Input{"text": "gate"})}
	harness.WaitInFlight(t, s, 1)
	for i, text := range []string{"a", "b"} {
		answers[text] = s.Begin(text, harness.Input{"text": text})
		harness.WaitInFlight(t, s, i+2)
	}
	assert.Eventually(t, "the gate is closed", func() bool { return slices.Contains(batches(t, s), "1 gate") })
	harness.WriteFile(t, filepath.Join(s.Dir, "gate"), "")
	killWorker(t, s) // it may have ended them by now
	received := receiveAll(t, answers)
	harness.WantOutput(t, "a", received["a"], "A")
	harness.WantOutput(t, "b", received["b"], "B")
}

// TestBatches_CancelInBatch: before it starts the prediction is taken out; while it runs it is answered at once, and
// the others get what they wait for; when no item is left the function itself is interrupted.
func TestBatches_CancelInBatch(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"Runner", "Tasks"} {
		s := batched(t, class, harness.AnyPython(t))
		gate, open := closeGate(t, s)
		answers := beginAll(t, s, texts("a", "b")...)
		a := s.Cancel("item-0")
		assert.TrueNow(t, a.Code == http.StatusOK, "cancel: %s, want Code 200", a)
		harness.WantStatus(t, class+": canceled before it started", harness.Receive(t, answers["a"]), "canceled")
		open()
		harness.Receive(t, gate)
		harness.WantOutput(t, "b", harness.Receive(t, answers["b"]), "B")
		assert.EqualSlices(t, class+": batches", batches(t, s), []string{"1 gate", "1 b"})
		assert.NoError(t, os.Remove(filepath.Join(s.Dir, "gate")))

		// The last of a running batch.
		single := s.Begin("lone", harness.Input{"text": "gate"})
		assert.Eventually(t, "it runs", func() bool { return len(batches(t, s)) == 3 })
		s.Cancel("lone")
		harness.WantStatus(t, class+": canceled while it ran", harness.Receive(t, single), "canceled")
		harness.WantOutput(t, "next", s.Succeed(harness.Input{"text": "next"}), "NEXT")
		assert.Equal(t, class+": the worker was replaced", s.Health().Workers[0].Restarts, 0)
	}
}

// TestBatches_Stages: preprocess and postprocess run once for each prediction, whose logs, metrics and errors are its
// own.
func TestBatches_Stages(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := batched(t, "Stages", python)
		gate, open := closeGate(t, s)
		names := []string{"a", "bb", "refuse", "ccc"}
		answers := beginAll(t, s, texts(names[:2]...)...)
		answers["refuse"] = s.Begin("refuse", harness.Input{"text": "refuse"})
		refused := harness.Receive(t, answers["refuse"])
		harness.WantFailed(t, "refuse", refused, "ValueError: refuse is refused")
		assert.False(t, strings.Contains(refused.Logs, "During handling of the above exception"),
			"the traceback has an exception that the model did not raise, want the model's alone:\n%s", refused.Logs)
		delete(answers, "refuse")
		assert.Eventually(t, "a to be processing while its batch waits", func() bool {
			a := s.Do("GET", "/predictions/item-0", nil)
			return a.Status == "processing" && a.Logs == "before a\n"
		})
		open()
		harness.Receive(t, gate)
		received := receiveAll(t, answers)
		for _, name := range []string{"a", "bb"} {
			var out map[string]string
			received[name].Decode(t, &out)
			upper := strings.ToUpper(name) + "!"
			assert.True(t, maps.Equal(out, map[string]string{"text": upper}) && received[name].Status == "succeeded",
				"%s: %s, want out %v and Status succeeded", name, received[name], map[string]string{"text": upper})
			if m := received[name].Metrics; m["letters"] != float64(len(name)) || m["batch_size"] != 2.0 {
				t.Errorf(`%s: metrics are %v, want m["letters"] %v and m["batch_size"] 2.0`, name, m, float64(len(name)))
			}
			assert.Equal(t, name+": logs", received[name].Logs, "before "+name+"\nafter "+upper+"\n")
		}
		count := map[string]int{}
		for _, line := range batches(t, s) {
			if line == "run bb! a!" { // two threads prepare them, and either may be first
				line = "run a! bb!"
			}
			count[line]++
		}
		for _, line := range []string{"before a", "before bb", "run a! bb!", "after A!", "after BB!", "before refuse"} {
			assert.Equal(t, line, count[line], 1)
		}
	})
}

// TestBatches_OfFleet: with several workers, deaths and reloads, each prediction has its own answer.
func TestBatches_OfFleet(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"Runner", "Tasks", "Stages"} {
		s := batched(t, class, harness.AnyPython(t), "--workers", "2", "--queue", "64", "--reload")
		clients := startClients(s, 16,
			func(client, n int) any { return harness.Input{"text": fmt.Sprintf("%d-%d", client, n)} })
		for range 3 {
			clients.more(t, 100)
			killWorker(t, s)
			clients.more(t, 100)
			s.Do(http.MethodPost, "/reload", nil)
		}
		clients.more(t, 200)
		for _, a := range clients.stopAll() {
			harness.WantFailed(t, class, a, "SIGKILL")
		}
	}
}

// TestBatches_EveryModeIsBatched: asynchronous predictions with webhooks, forms, MessagePack and deadlines in one
// batch, and what is too late is not in it.
func TestBatches_EveryModeIsBatched(t *testing.T) {
	t.Parallel()
	hooks := make(chan harness.Prediction, 8)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p harness.Prediction
		err := json.NewDecoder(r.Body).Decode(&p)
		assert.True(t, err == nil, "read a webhook: got %v, want no error", err)
		hooks <- p
	}))
	defer receiver.Close()
	s := batched(t, "Runner", harness.AnyPython(t))
	gate, open := closeGate(t, s)
	hooked := map[string]any{
		"id": "hooked", "input": harness.Input{"text": "a"}, "webhook": receiver.URL,
		"webhook_events_filter": []string{"start", "completed"},
	}
	a := s.Create(hooked, "Prefer", "respond-async")
	assert.TrueNow(t, a.Code == http.StatusAccepted, "respond-async: %s, want Code 202", a)
	answers := map[string]chan harness.Answer{}
	ask := func(name string, body any, headers ...string) {
		answer := make(chan harness.Answer, 1)
		answers[name] = answer
		go func() { answer <- s.Do(http.MethodPost, "/predictions", body, headers...) }()
	}
	ask("form", "--x\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nb\r\n--x--\r\n", "Content-Type",
		"multipart/form-data; boundary=x")
	harness.WaitInFlight(t, s, 3)
	ask("packed", "\x81\xa5input\x81\xa4text\xa1c", "Content-Type", "application/msgpack")
	harness.WaitInFlight(t, s, 4)
	ask("late", map[string]any{"input": harness.Input{"text": "late"}}, "Pinion-Deadline", "0.05")
	harness.WantCode(t, "late", <-answers["late"], http.StatusRequestTimeout)
	open()
	harness.Receive(t, gate)
	harness.WantOutput(t, "form", <-answers["form"], "B")
	harness.WantOutput(t, "packed", <-answers["packed"], "C")
	if start := <-hooks; start.Status != "starting" && start.Status != "processing" {
		t.Errorf("the first webhook tells %+v, want Status starting or processing", start)
	}
	if end := <-hooks; end.Status != "succeeded" || string(end.Output) != `"A"` || end.Metrics["batch_size"] != 3.0 ||
		end.Logs != "batch of 3\n" {
		t.Errorf(`the last webhook tells %+v, want Status succeeded, Output %q, Metrics["batch_size"] 3.0 and Logs %q`, end,
			`"A"`, "batch of 3\n")
	}
	harness.WantOutput(t, "asked for afterwards", s.Do(http.MethodGet, "/predictions/hooked", nil), "A")
	assert.EqualSlices(t, "batches", batches(t, s), []string{"1 gate", "1 a b c"})
}
