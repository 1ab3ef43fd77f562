package queue

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// refusingServer returns the URL of a server that answers every request with that status, and asks to wait.
func refusingServer(t *testing.T, status int) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// briefStop makes a stop short, except for what it waits for without a bound.
var briefStop = []string{"--grace", "300ms", "--cancel-grace", "700ms"}

// TestStop_WebhookDoesNotHoldIt holds that a stop ends with any receiver, and that the log names what was given up.
func TestStop_WebhookDoesNotHoldIt(t *testing.T) {
	t.Parallel()
	sigterm := func(s *harness.Server) { s.Signal(syscall.SIGTERM) }
	shutdown := func(s *harness.Server) {
		harness.WantCode(t, "POST /shutdown", s.Do(http.MethodPost, "/shutdown", nil), http.StatusOK)
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, c := range map[string]struct {
		receiver string
		end      func(*harness.Server)
		args     []string
	}{
		"closed port":           {closed.URL, sigterm, nil},
		"closed port, shutdown": {closed.URL, shutdown, nil},
		"503":                   {refusingServer(t, http.StatusServiceUnavailable), sigterm, nil},
		"429":                   {refusingServer(t, http.StatusTooManyRequests), sigterm, nil},
		"silence":               {harness.SilentServer(t), sigterm, nil},
		"silence, shutdown":     {harness.SilentServer(t), shutdown, nil},
		"no grace":              {closed.URL, sigterm, []string{"--grace", "1ms", "--cancel-grace", "1ms"}},
		"direct, with a queue": {
			harness.SilentServer(t), sigterm,
			[]string{"--nats", "embed:" + t.TempDir(), "--model", "echo"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{
				Model: "echo.py:text", Args: append(append([]string{}, briefStop...), c.args...),
			})
			s.Create(map[string]any{"id": "told", "input": harness.Input{"text": "x"}, "webhook": c.receiver})
			c.end(s)
			s.Ended(0)
			_, named := s.Log.First(func(l harness.Line) bool {
				return l.PredictionID == "told" && strings.Contains(l.Raw, `"event":"completed"`)
			})
			assert.True(t, named, "the log does not name the webhook that was given up")
		})
	}
}

// TestStop_ShutdownRequestWaitsForModelAlone holds that POST /shutdown, which gives a model any time, bounds the
// wait for an upload and for clients that do not read.
func TestStop_ShutdownRequestWaitsForModelAlone(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]func(*harness.Server){
		"upload": func(s *harness.Server) {
			a := s.Create(map[string]any{"input": harness.Input{"how": "file"}, "output_file_prefix": harness.SilentServer(t)},
				"Prefer",
				"respond-async")
			harness.WantCode(t, "prediction", a, http.StatusAccepted)
			s.WaitLog("returning")
		},
		"client": func(s *harness.Server) {
			conn := s.Dial()
			t.Cleanup(func() { conn.Close() })
			if _, err := conn.Write([]byte(
				"POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{")); err != nil {
				t.Error(err)
			}
			s.Create(map[string]any{"input": harness.Input{"how": "nothing"}}) // after it, the half request was read
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const source = "from cog import Path\ndef run(how: str) -> Path:\n    p = Path('out.txt')\n    p.write_text('x')\n    print('returning', flush=True)\n    return p\n"
			s := harness.Ready(t, harness.Options{
				Dir: harness.NewFolder(t, "run.py", source), Args: briefStop, CutsOff: name == "client",
			})
			hold(s)
			harness.WantCode(t, "POST /shutdown", s.Do(http.MethodPost, "/shutdown", nil), http.StatusOK)
			s.Ended(0)
		})
	}
}

// TestStop_ModelOutlastsGraceOfShutdownRequest holds that the model's own work is not what that bound is for.
func TestStop_ModelOutlastsGraceOfShutdownRequest(t *testing.T) {
	t.Parallel()
	const source = "import time\ndef run() -> str:\n    print('begun', flush=True)\n    time.sleep(1.5)\n    return 'done'\n"
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", source), Args: []string{"--grace", "1ms", "--cancel-grace", "1ms"},
	})
	answer := s.Begin("slow", harness.Input{})
	s.WaitLog("begun")
	harness.WantCode(t, "POST /shutdown", s.Do(http.MethodPost, "/shutdown", nil), http.StatusOK)
	harness.WantStatus(t, "the prediction", harness.Receive(t, answer), "succeeded")
	s.Ended(0)
}

// TestStop_WorkerThatDoesNotLeaveIsKilled when the time of the stop is over.
func TestStop_WorkerThatDoesNotLeaveIsKilled(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"Python": "import atexit, time\n@atexit.register\ndef leave():\n    while True: time.sleep(9)\ndef run() -> str: ...\n",
		"C":      "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.__cxa_atexit(libc.pause, None, None)\ndef run() -> str: ...\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{
				Dir: harness.NewFolder(t, "run.py", source), Args: []string{"--grace", "300ms", "--cancel-grace", "1h"},
			})
			s.Stop()
			_, found := s.Log.Find("the time of the stop is over: killing the workers that have not ended")
			assert.True(t, found, "the log does not say that the worker was killed")
		})
	}
}

// TestStop_QueueKeepsWebhook of a job whose receiver is silent: the stop ends, stores the job's end, and the next
// server delivers it.
func TestStop_QueueKeepsWebhook(t *testing.T) {
	t.Parallel()
	var answers atomic.Bool
	ended := make(chan string, 9)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if !answers.Load() {
			<-r.Context().Done() // the server gives up
			return
		}
		var p struct{ Status string }
		if err == nil && json.Unmarshal(body, &p) == nil {
			ended <- p.Status
		}
	}))
	t.Cleanup(receiver.Close)
	store := filepath.Join(t.TempDir(), "jobs")
	s := harness.StartMember(t, "embed:"+store, harness.Options{Args: briefStop})
	a := s.Create(map[string]any{"id": "told", "input": harness.Input{"token": "told"}, "webhook": receiver.URL}, "Prefer",
		"respond-async")
	harness.WantCode(t, "the prediction", a, http.StatusAccepted)
	assert.Eventually(t, "the model has run", func() bool { return harness.TimesRun(t, s, "told") == 1 })
	s.Stop()

	answers.Store(true)
	next := harness.StartMember(t, "embed:"+store, harness.Options{Dir: s.Dir})
	assert.Equal(t, "the webhook", harness.Receive(t, ended), "succeeded")
	assert.Equal(t, "how often the model ran", harness.TimesRun(t, next, "told"), 1)
}

// TestStop_GatewayLeavesQueueThatIsGone with a webhook at a silent receiver under way.
func TestStop_GatewayLeavesQueueThatIsGone(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	g := harness.StartGateway(t, nats.URL, "--grace", "300ms")
	a := g.Create(map[string]any{"id": "told", "input": harness.Input{}, "webhook": harness.SilentServer(t)}, "Prefer",
		"respond-async")
	harness.WantCode(t, "the prediction", a, http.StatusAccepted)
	harness.WantCode(t, "cancel", g.Cancel("told"), http.StatusOK) // its webhook is posted by the gateway
	nats.Kill()
	assert.NoError(t, g.Cmd.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- g.Cmd.Wait() }()
	err := harness.Receive(t, ended)
	assert.True(t, err == nil, "the gateway ended with %v, want exit code 0", err)
}
