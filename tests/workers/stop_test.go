package workers

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestStop_SIGTERMAndShutdownLetWhatIsInFlightFinish(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*harness.Server){
		"SIGTERM": func(s *harness.Server) { s.Signal(syscall.SIGTERM) },
		"SIGINT":  func(s *harness.Server) { s.Signal(syscall.SIGINT) },
		"shutdown": func(s *harness.Server) {
			a := s.Do(http.MethodPost, "/shutdown", nil)
			assert.Equal(t, "shutdown: code", a.Code, http.StatusOK)
			assert.Equal(t, "shutdown: body", string(a.Body), "{}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "dying.py", Args: []string{"--queue", "9"}})
			open := harness.MakeFIFO(t, s.Dir, "gate")
			requests := []*harness.Request{s.Request("first", harness.Input{"token": "first", "gate": "gate"})}
			s.WaitLog("waiting first")
			for _, name := range harness.Numbered("waiting", 4) {
				requests = append(requests, s.Request(name, harness.Input{"token": name}))
			}
			late := s.Connect()
			end(s)
			harness.WaitDrain(s)
			if a := late.Send(`{"input":{"token":"late"}}`); a.Err == nil { // on a connection that was there before
				harness.WantCode(t, "a late one", a, http.StatusServiceUnavailable)
				assert.Equal(t, "Pinion-Retry", a.Header.Get("Pinion-Retry"), "elsewhere")
			}
			open()
			for _, v := range requests {
				harness.WantStatus(t, "the answer", harness.Receive(t, v.Answer), "succeeded")
			}
			s.Ended(0)
			a := s.Input(harness.Input{})
			assert.True(t, a.Err != nil, "it still answers: %s", a)
			assert.Equal(t, "the model ran", strings.Join(harness.ModelLines(t, s, "ran.txt"), " "),
				"first waiting0 waiting1 waiting2 waiting3")
		})
	}
}

func TestStop_WhatOutlastsGraceIsCanceled(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"sleep", "swallow_all"} {
		s := harness.Ready(t, harness.Options{Model: "blocking.py", Args: []string{"--grace", "1s", "--cancel-grace", "1s"}})
		answer := s.Begin("slow", harness.Input{"how": how})
		s.WaitLog("begun")
		s.Signal(syscall.SIGTERM)
		harness.WantStatus(t, how, harness.Receive(t, answer), "canceled")
		s.Ended(0)
	}
}

// TestStop_SIGINTEndsAtOnceWhatSIGTERMBegan, while the server waits for a prediction or for a worker that does not end.
func TestStop_SIGINTEndsAtOnceWhatSIGTERMBegan(t *testing.T) {
	t.Parallel()
	for _, first := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		s := harness.Ready(t, harness.Options{Model: "blocking.py", Args: []string{"--grace", "0"}})
		s.Begin("slow", harness.Input{"how": "stuck"})
		s.WaitLog("begun")
		s.Signal(first)
		harness.WaitDrain(s)
		s.Signal(syscall.SIGINT)
		s.Ended(130)

		const source = "import atexit\n@atexit.register\ndef leave():\n    print('leaving', flush=True)\n    open('gate').read()\ndef run() -> str: ...\n"
		s = harness.Ready(t, harness.Options{Dir: harness.NewFolder(t, "run.py", source)})
		harness.MakeFIFO(t, s.Dir, "gate")
		s.Signal(first)
		s.WaitLog("leaving")
		s.Signal(syscall.SIGINT)
		s.Ended(130)
		_, found := s.Log.Find("interrupted again: ending at once")
		assert.True(t, found, "the SIGINT did not end the wait for the worker")
	}
}

func TestStop_SIGTERMCanBeLeftToShutdownRequest(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--await-explicit-shutdown"},
		{"--await-explicit-shutdown=true"},
		{"--await-explicit-shutdown", "true"}, // as Cog's server takes it
		{"--await-explicit-shutdown", "True"},
	} {
		s := harness.Ready(t, harness.Options{Model: "echo.py:text", Args: args})
		s.Signal(syscall.SIGTERM)
		for range 5 {
			s.Succeed(harness.Input{"text": "still here"})
		}
		assert.True(t, s.Log.Count("shutting down") == 0, "%q: SIGTERM was not ignored: got one, want none", args)
		harness.WantCode(t, "shutdown", s.Do(http.MethodPost, "/shutdown", nil), http.StatusOK)
		s.Ended(0)
	}
}

func TestStop_SIGTERMRightAfterStartEndsCleanly(t *testing.T) {
	t.Parallel()
	for range 8 {
		s := harness.Start(t, harness.Options{Model: "echo.py:text"})
		s.Signal(syscall.SIGTERM)
		s.Ended(0)
	}
}

func TestStop_KilledFrontTakesItsWorkersAndTheirChildrenAlong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model string
		in    harness.Input
	}{
		{"blocking.py", harness.Input{"how": "subprocess"}},
		{"blocking.py", harness.Input{"how": "stuck"}},
		{"blocking.py", harness.Input{"how": "loop"}},
		{"tasks.py", harness.Input{"what": "process"}},
		{"tasks.py", harness.Input{"what": "busy"}},
	} {
		s := harness.Ready(t, harness.Options{Model: c.model, Args: []string{"--workers", "2"}})
		s.Begin("running", c.in)
		assert.Eventually(t, "the prediction begins", func() bool {
			_, ok := s.Log.First(func(l harness.Line) bool { return strings.HasPrefix(l.Text, "begun") })
			return ok
		})
		s.Kill()
	}
	starting := harness.Start(t, harness.Options{Model: "setups.py:Hanging"})
	starting.WaitLog("hanging")
	starting.Kill()
	idle := harness.Ready(t, harness.Options{Model: "children.py"})
	idle.Succeed(harness.Input{"what": "background"})
	idle.Succeed(harness.Input{"what": "pool_workers", "method": "fork"})
	idle.Kill()
}

func TestStop_NothingIsLeftInTemporaryFolder(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "filing.py:upper"})
	s.Succeed(harness.Input{"file": "data:,x"})
	s.Stop()
	left := assert.Must(os.ReadDir(s.Tmp))(t)
	for _, entry := range left {
		t.Errorf("%s is left, want nothing", entry.Name())
	}
}
