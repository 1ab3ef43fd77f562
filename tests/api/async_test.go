package api

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// asyncServer serves tasks.py with n slots.
func asyncServer(t *testing.T, python harness.Python, n int, more ...string) *harness.Server {
	t.Helper()
	return harness.Ready(t, harness.Options{
		Python: python.Path, Model: "tasks.py", Args: append([]string{"--concurrency", fmt.Sprint(n)}, more...),
	})
}

func TestAsync_PredictionsRunAtOnceUpToNumberOfSlots(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		const n = 8
		s := asyncServer(t, python, n)
		assert.Equal(t, "the setup's logs", s.Health().Setup.Logs, "async setup\n")
		harness.EqualJSON(t, "same loop", s.Succeed(harness.Input{"what": "same_loop"}).Output, `true`)
		var requests []*harness.Request
		for _, name := range harness.Numbered("wait", n-1) {
			requests = append(requests, s.Request(name, harness.Input{"what": "meet", "n": n}))
		}
		assert.Equal(t, "with a slot left, health", s.Health().Status, "READY")
		last := s.Begin("last", harness.Input{"what": "meet", "n": n}) // they end only if all n are inside at once
		for _, v := range requests {
			harness.EqualJSON(t, "most inside", harness.Receive(t, v.Answer).Output, fmt.Sprint(n))
		}
		harness.Receive(t, last)
		for _, name := range harness.Numbered("busy", n) {
			requests = append(requests, s.Request(name, harness.Input{"what": "wait", "name": name}))
		}
		assert.Equal(t, "with no slot left, health", s.Health().Status, "BUSY")
		harness.WantCode(t, "one too many", s.Input(harness.Input{}), http.StatusConflict)
		for _, name := range harness.Numbered("busy", n) {
			harness.WantCode(t, "cancel", s.Cancel(name), http.StatusOK)
		}
		s.WaitHealth("READY")
	})
}

func TestAsync_DecoratorSaysHowManyRunAtOnce(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "tasks.py:Four"})
	var requests []*harness.Request
	for _, name := range harness.Numbered("p", 3) {
		requests = append(requests, s.Request(name, harness.Input{"n": 4}))
	}
	s.Succeed(harness.Input{"n": 4})
	for _, v := range requests {
		harness.WantStatus(t, "the answer", harness.Receive(t, v.Answer), "succeeded")
	}
}

// TestAsync_TextOfConcurrentPredictionsIsSeparated: from the task itself, its tasks, threads and executors.
func TestAsync_TextOfConcurrentPredictionsIsSeparated(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := asyncServer(t, python, 4)
		answers := map[string]<-chan harness.Answer{}
		names := []string{"ada", "bob", "cyd", "dan"}
		for _, name := range names {
			answers[name] = s.Begin(name, harness.Input{"what": "talk", "name": name, "n": 5})
		}
		for _, name := range names {
			a := harness.Receive(t, answers[name])
			want := ""
			for i := range 5 {
				want += fmt.Sprintf("%s run %d\n", name, i)
			}
			for _, line := range []string{
				"task", "task", "thread", "executor", "to_thread", "error",
				"var " + name + " " + name,
			} {
				want += name + " " + line + "\n"
			}
			assert.True(t, a.Status == "succeeded" && a.Logs == want && a.Text(t) == name, "%s: %s\nwant logs %q", name, a, want)
		}
		assert.Equal(t, "a later one has logs", s.Succeed(harness.Input{"what": "nothing"}).Logs, "")
		// With one prediction inside a line says whose it is; here, written around Python, it is unknown.
		s.Succeed(harness.Input{"what": "raw", "name": "eve"})
		s.WaitLog("eve raw")
		assert.Equal(t, "a later one has logs", s.Succeed(harness.Input{"what": "nothing"}).Logs, "")
	})
}

// TestAsync_WhatPredictionLeavesBehindIsNotNextOnes: neither what its tasks and threads write, nor, where several run
// at once, what it is unknown apart.
func TestAsync_WhatPredictionLeavesBehindIsNotNextOnes(t *testing.T) {
	t.Parallel()
	for slots, raw := range map[int]string{1: "eve raw\n", 3: ""} {
		s := asyncServer(t, harness.AnyPython(t), slots)
		s.Succeed(harness.Input{"what": "leave", "name": "ada"})
		assert.Equal(t, fmt.Sprintf("%d slots: the logs", slots), s.Succeed(harness.Input{"what": "see", "name": "eve"}).Logs,
			"eve begins\n"+raw+"eve ends\n")
		for _, text := range []string{"ada late task", "ada late thread", "eve raw"} {
			if line := s.WaitLog(text); (line.PredictionID == "") != (slots > 1 || strings.HasPrefix(text, "ada")) {
				t.Errorf("%d slots: %s: got %t, want %t", slots, line.Raw, line.PredictionID == "",
					slots > 1 || strings.HasPrefix(text, "ada"))
			}
		}
	}
}

// TestAsync_ServersLogHasLinesOfConcurrentPredictions: a print with several arguments is one, one of two lines is two.
func TestAsync_ServersLogHasLinesOfConcurrentPredictions(t *testing.T) {
	t.Parallel()
	s := asyncServer(t, harness.AnyPython(t), 3)
	s.Create(harness.Input{"id": "mine", "input": harness.Input{"what": "talk", "name": "ada\neve", "n": 1}})
	for _, text := range []string{"ada", "eve run 0", "eve task", "eve error"} {
		line := s.WaitLog(text)
		stream := "stdout"
		if text == "eve error" {
			stream = "stderr"
		}
		assert.True(t, line.PredictionID == "mine" && line.Stream == stream && !strings.Contains(line.Raw, `\n"`),
			"got %s, want PredictionID mine, Stream %q and Raw without %q", line.Raw, stream, `\n"`)
	}
}

func TestAsync_ModelWithOneSlotHasAllItsLogs(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "tasks.py"})
	for range 3 {
		assert.Equal(t, "logs", s.Succeed(harness.Input{"what": "raw", "name": "eve"}).Logs, "eve raw\n")
		a := s.Succeed(harness.Input{"what": "talk", "name": "ada", "n": 1})
		assert.Contains(t, "logs", a.Logs, "ada run 0\n", "ada task\n", "ada thread\n", "ada executor\n", "ada error\n",
			"ada var ada ada\n")
	}
}

func TestAsync_CancelEndsTaskAndLeavesBystandersAlone(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := asyncServer(t, python, 6)
		worker := s.Worker()
		bystanders := []*harness.Request{
			s.Request("bystander", harness.Input{"what": "wait", "name": "bystander"}),
			s.Request("meeting", harness.Input{"what": "meet", "n": 6}),
		}
		s.WaitLog("begun bystander")
		for _, how := range []string{"wait", "process", "in_thread", "busy", "block"} {
			for round := range 3 {
				name := fmt.Sprintf("%s%d", how, round)
				answer := s.Begin(name, harness.Input{"what": how, "name": name})
				s.WaitLog("begun " + name)
				harness.WantCode(t, "cancel of "+name, s.Cancel(name), http.StatusOK)
				a := harness.Receive(t, answer)
				assert.True(t, a.Code == http.StatusOK && a.Status == "canceled" && a.Error == "" && a.Prediction.Output == nil,
					"%s: %s, want Code 200, Status canceled, Error empty and Output nil", name, a)
				assert.True(t, how != "wait" || a.Logs == fmt.Sprintf("begun %[1]s\ncanceled %[1]s\nfinally %[1]s\n", name),
					"%s: logs are %q, want begun, canceled and finally of %s", name, a.Logs, name)
				harness.WantCode(t, "cancel of "+name+" afterwards", s.Cancel(name), http.StatusOK)
			}
		}
		for _, name := range harness.Numbered("more", 3) {
			bystanders = append(bystanders, s.Request(name, harness.Input{"what": "meet", "n": 6}))
		}
		s.Succeed(harness.Input{"what": "meet", "n": 6})
		for _, v := range bystanders[1:] { // they were inside all the time
			harness.WantStatus(t, "a bystander", harness.Receive(t, v.Answer), "succeeded")
		}
		harness.WantCode(t, "cancel of the bystander", s.Cancel("bystander"), http.StatusOK)
		harness.WantStatus(t, "the bystander", harness.Receive(t, bystanders[0].Answer), "canceled")
		harness.SameWorker(t, s, worker)
	})
}

func TestAsync_TaskThatSwallowsItsCancelEndsWorkerAfterGrace(t *testing.T) {
	t.Parallel()
	s := asyncServer(t, harness.AnyPython(t), 2, "--cancel-grace", "1s", "--queue", "4")
	worker := s.Worker()
	swallowing := s.Begin("swallowing", harness.Input{"what": "swallow", "name": "s"})
	bystander := s.Begin("bystander", harness.Input{"what": "wait", "name": "b"})
	s.WaitLog("begun s")
	s.WaitLog("begun b")
	waiting := s.Request("waiting", harness.Input{"name": "waited"})
	harness.WantCode(t, "cancel", s.Cancel("swallowing"), http.StatusOK)
	harness.WantStatus(t, "the answer", harness.Receive(t, swallowing), "canceled")
	// It shared the worker: the only one that suffers, and its error says why.
	harness.WantFailed(t, "bystander", harness.Receive(t, bystander), "cancel")
	harness.WantOutput(t, "what waited", harness.Receive(t, waiting.Answer), "waited")
	got := s.Worker()
	assert.True(t, got != worker, "the worker was not replaced: got %d, want anything but %d", got, worker)
}

func TestAsync_ClientThatLeavesCancelsItsTask(t *testing.T) {
	t.Parallel()
	s := asyncServer(t, harness.AnyPython(t), 3)
	request := s.Request("left", harness.Input{"what": "wait", "name": "left"})
	s.WaitLog("begun left")
	request.Leave()
	s.WaitLog("canceled left")
	s.WaitLog("finally left")
	s.Succeed(harness.Input{})
}

func TestAsync_FailuresAreTheirOwn(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := asyncServer(t, python, 3)
		for _, c := range []struct{ what, name, err string }{
			{"fail", "mine", "ValueError: mine"},
			{"exit", "7", "SystemExit: 7"},
		} {
			a := s.Fail(harness.Input{"what": c.what, "name": c.name})
			assert.Equal(t, c.what+": error", a.Error, c.err)
			assert.Contains(t, c.what, a.Logs, "Traceback", "tasks.py")
		}
		for what, want := range map[string]string{
			"timeout": `"timed out"`, "fork": `"parent 0"`, "sub": `"sub\n"`, "metric": `{"k":"v"}`,
		} {
			a := s.Create(harness.Input{"input": harness.Input{"what": what, "n": 2}, "context": harness.Input{"k": "v"}})
			harness.EqualJSON(t, what, a.Output, want)
			mine, _ := a.Metrics["mine"].(float64)
			assert.True(t, what != "metric" || mine == 6, "metrics are %v: got %v, want 6", a.Metrics, mine)
		}
		assert.Equal(t, "restarts", s.Health().Workers[0].Restarts, 0)
	})
}

func TestAsync_DeathFailsEveryRunningPredictionOfAsyncWorker(t *testing.T) {
	t.Parallel()
	s := asyncServer(t, harness.AnyPython(t), 3, "--queue", "5")
	first := s.Begin("one", harness.Input{"what": "wait", "name": "one"})
	two := s.Begin("two", harness.Input{"what": "wait", "name": "two"})
	s.WaitLog("begun one")
	s.WaitLog("begun two")
	dying := s.Request("dying", harness.Input{"what": "die", "n": 4})
	// all slots are taken: it lies in a socket or in the queue
	waiting := s.Request("waiting", harness.Input{"name": "waited"})
	harness.SendSignal(t, s.Worker(), syscall.SIGABRT)
	for name, answer := range map[string]<-chan harness.Answer{"one": first, "two": two, "dying": dying.Answer} {
		a := harness.Receive(t, answer)
		assert.True(t, a.Status == "failed" && strings.HasPrefix(a.Error, "worker killed by SIGABRT while running"),
			`%s: %s, want Status failed and Error starting with "worker killed by SIGABRT while running"`, name, a)
	}
	harness.WantOutput(t, "what waited", harness.Receive(t, waiting.Answer), "waited")
}

func TestAsync_GeneratorsAreCollectedAndClosed(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{
			Python: python.Path, Model: "tasks.py:Stream", Args: []string{"--concurrency", "2"},
		})
		a := s.Succeed(harness.Input{})
		harness.EqualJSON(t, "output", a.Output, `["0","1","2"]`)
		assert.Equal(t, "logs", a.Logs, "closed\n")
		answer := s.Begin("endless", harness.Input{"n": 0})
		s.WaitLog("begun")
		s.Cancel("endless")
		if a := harness.Receive(t, answer); a.Status != "canceled" || a.Logs != "begun\nclosed\n" {
			t.Errorf("got %s, want Status canceled and Logs %q", a, "begun\nclosed\n")
		}
	})
}

func TestAsync_FunctionsAndAsyncSetupOfSyncModels(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		plain := harness.Ready(t, harness.Options{Python: python.Path, Model: "tasks.py:plain"})
		harness.EqualJSON(t, "plain", plain.Succeed(harness.Input{"n": 4}).Output, `5`)
		setup := harness.Ready(t, harness.Options{Python: python.Path, Model: "tasks.py:SetupOnly"})
		harness.EqualJSON(t, "setup only", setup.Succeed(harness.Input{}).Output, `"set up"`)
	})
}

func TestAsync_ManyAsyncPredictionsGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	s := asyncServer(t, harness.NewestPython(t), 16, "--queue", "200")
	harness.RunClients(t, 32, func(client int) error {
		for i := range 60 {
			name := fmt.Sprintf("c%d-%d", client, i)
			what := []string{"nothing", "talk"}[i%20/19]
			a := s.Input(harness.Input{"what": what, "name": name, "n": 1})
			if a.Status != "succeeded" || string(a.Output) != `"`+name+`"` {
				return fmt.Errorf("%s: %s", name, a)
			}
			for _, line := range strings.Fields(a.Logs) {
				if strings.HasPrefix(line, "c") && strings.Contains(line, "-") && line != name {
					return fmt.Errorf("%s has a line of %s: %q", name, line, a.Logs)
				}
			}
		}
		return nil
	})
}

// blockingModel blocks its event loop until a gate is open.
const blockingModel = `
from cog import BaseRunner

class Runner(BaseRunner):
    async def run(self, gate: str = "", token: str = "") -> str:
        if gate:
            self.wait_for(gate)
        return token

    def wait_for(self, gate: str) -> None:
        with open(gate) as file:
            file.read()
`

// TestBlockedLoop_ItemsLeave: what several streams yield leaves together at the end of the loop's turn, but an item leaves
// too where the model blocks the loop after it.
func TestBlockedLoop_ItemsLeave(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "api/turns.py"})
		open := harness.MakeFIFO(t, s.Dir, "gate")
		others := make([]*subscriber, 8)
		for i := range others {
			others[i] = subscribe(t, s, fmt.Sprint("other-", i), `{"input":{"n":3}}`, 0)
		}
		read := func(reader *subscriber, from, to int) {
			t.Helper()
			for i := from; i < to; {
				kind, data, err := reader.next()
				assert.NoError(t, err)
				if kind == "output" {
					harness.EqualJSON(t, "item", []byte(data), fmt.Sprintf(`{"chunk":%d,"index":%d}`, i, i))
					i++
				}
			}
		}
		for _, other := range others {
			read(other, 0, 3)
		}
		blocks := subscribe(t, s, "blocks", `{"input":{"n":2,"gate":"gate"}}`, 0)
		for i := range 2 {
			read(blocks, i, i+1) // it blocks the loop until the gate opens
			open()
		}
		kind, data, _, err := blocks.rest()
		assert.True(t, err == nil && kind == "completed" && strings.Contains(data, `"output":[0,1]`),
			"the stream ends with %s %s, %v, want completed with [0,1]", kind, data, err)
		for i, other := range others {
			harness.WantCode(t, "cancel", s.Cancel(fmt.Sprint("other-", i)), http.StatusOK)
			kind, _, outputs, err := other.rest()
			assert.True(t, err == nil && kind == "completed" && outputs == 0, "other %d ends with %s, %d outputs, %v", i, kind, outputs, err)
		}
	})
}

// TestBlockedLoop_AdmittedRequestsWait: a request that has a slot is not ended by --queue-timeout though the model
// blocks the loop; one without a slot is, and one whose client set a deadline. The log names the blocking function
// once.
func TestBlockedLoop_AdmittedRequestsWait(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", blockingModel), Model: "run.py:Runner",
		Args: []string{"--concurrency", "3", "--queue", "8", "--queue-timeout", "1s"},
	})
	open := harness.MakeFIFO(t, s.Dir, "gate")
	blocks := s.Begin("blocks", harness.Input{"gate": "gate", "token": "a"})
	harness.WaitStatus(t, s, "blocks", "processing")
	said := func(text string) (n int) {
		for _, line := range s.Log.Lines() {
			if strings.Contains(line.Text, text) {
				n++
			}
		}
		return n
	}
	assert.Eventually(t, "the log names the function", func() bool { return said("in wait_for") > 0 })
	admitted := s.Begin("admitted", harness.Input{"token": "b"})
	harness.WaitStatus(t, s, "admitted", "starting")
	late := s.Create(map[string]any{"input": harness.Input{}}, "Pinion-Deadline", "1")
	harness.WantCode(t, "a client's own deadline", late, http.StatusRequestTimeout)
	filler := s.Begin("filler", harness.Input{"token": "c"})
	harness.WaitStatus(t, s, "filler", "starting")
	harness.WantCode(t, "one without a slot", s.Input(harness.Input{}), http.StatusRequestTimeout)
	open()
	for _, answer := range []<-chan harness.Answer{blocks, admitted, filler} {
		harness.WantAnswer(t, "the answer", harness.Receive(t, answer), http.StatusOK, `"status":"succeeded"`)
	}
	assert.Equal(t, "warnings", said("async code has blocked the event loop"), 1)
	assert.Equal(t, "lines that name the function", said("in wait_for"), 1)
}
