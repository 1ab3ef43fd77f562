package server

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/process"
	"pinion/pyembed/locate"
	"pinion/runtime/gpu"
	"pinion/runtime/telemetry"
	"pinion/tests/assert"
	"pinion/tests/fakeworker"
)

func TestMain(m *testing.M) {
	fakeworker.Main()
	os.Exit(m.Run())
}

// site is a server of models on fake workers.
type site struct {
	*Server
	t       *testing.T
	address string
	exit    chan int
}

// namedModel makes a model whose workers do what the word says; see package fakeworker.
func namedModel(t *testing.T, name, word string) config.Named {
	t.Helper()
	dir := t.TempDir()
	assert.NoError(t, os.WriteFile(filepath.Join(dir, "run.py"), nil, 0o600))
	var settings config.Model
	settings.BindFlags(pflag.NewFlagSet("", pflag.ContinueOnError)) // which sets the defaults
	settings.Predictor, settings.Queue = "run.py:"+word, 10
	found := assert.Must(settings.FindModel(dir))(t)
	return config.Named{
		Name: name, Settings: &settings, Found: found, Python: &locate.Python{},
		GPUs: gpu.Plan{Workers: 1},
	}
}

// serve starts a server. reread is as New has it.
func serve(t *testing.T, models []config.Named, reread func() (*config.Models, error), flags ...string) *site {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var s config.Serve
	given := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	s.BindFlags(given)
	flags = append(flags, "--host", "127.0.0.1", "--port", "0", "--log-level", "error")
	assert.NoError(t, given.Parse(flags))
	assert.NoError(t, s.Server.FromEnvironment(given, os.Getenv))
	s.Telemetry = &telemetry.Config{}
	log, sink := s.Log.Open()
	f := assert.Must(New(&s.Server, models, Reader{File: reread}, log, sink))(t)
	site := &site{Server: f, t: t, address: f.endpoints.address, exit: make(chan int, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		code, _ := process.ExitCode(f.Run())
		site.exit <- code
	}()
	t.Cleanup(func() {
		f.stop.ask()
		<-ended
	})
	return site
}

// ask sends a request, with a JSON body if there is one, and returns its answer.
func (s *site) ask(method, path, body string) (code int, answer string) {
	s.t.Helper()
	req := assert.Must(http.NewRequest(method, s.address+path, bytes.NewBufferString(body)))(s.t)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp := assert.Must(http.DefaultClient.Do(req))(s.t)
	defer resp.Body.Close()
	text := assert.Must(io.ReadAll(resp.Body))(s.t)
	return resp.StatusCode, string(text)
}

func (s *site) until(path string, want int) {
	s.t.Helper()
	assert.Eventually(s.t, path, func() bool { code, _ := s.ask("GET", path, ""); return code == want })
}

// want fails unless a request is answered by that code, with a text in it.
func (s *site) want(method, path, body string, code int, text string) {
	s.t.Helper()
	got, answer := s.ask(method, path, body)
	assert.True(s.t, got == code && strings.Contains(answer, text),
		"%s %s: got %d %s, want %d with %q", method, path, got, answer, code, text)
}

const prediction = `{"input":{"s":"x"}}`

func TestServer_OneModel(t *testing.T) {
	s := serve(t, []config.Named{namedModel(t, "m", "good")}, nil)
	s.until("/readyz", 200)
	s.want("POST", "/predictions", prediction, 200, `"status":"succeeded"`)
	s.want("POST", "/models/m/predictions", prediction, 200, `"status":"succeeded"`)
	s.want("POST", "/predictions", `{"input":{"s":7}}`, 422, "string")
	s.want("GET", "/openapi.json", "", 200, `"Input"`)
	s.want("GET", "/metrics", "", 200, "pinion_")
	s.want("GET", "/health-check", "", 200, `"status":"READY"`)
	s.want("POST", "/shutdown", "", 200, "{}")
	assert.Equal(t, "the exit code", <-s.exit, process.ExitOK)
}

func TestServer_SeveralModels(t *testing.T) {
	s := serve(t, []config.Named{namedModel(t, "a", "good"), namedModel(t, "b", "fails")}, nil)
	s.until("/readyz", 200) // one of them takes predictions
	assert.Eventually(t, "b has failed", func() bool {
		_, health := s.ask("GET", "/health-check", "")
		var h struct{ Models map[string]string }
		return json.Unmarshal([]byte(health), &h) == nil && h.Models["a"] == "READY" && h.Models["b"] == "SETUP_FAILED"
	})
	s.want("POST", "/models/a/predictions", prediction, 200, `"status":"succeeded"`)
	s.want("POST", "/models/b/predictions", prediction, 503, "")
	s.want("POST", "/models/c/predictions", prediction, 404, "")
	s.want("GET", "/models", "", 200, `"failed"`)
	s.want("GET", "/metrics", "", 200, `model="a"`)
}

// TestServer_FirstSetupFails: the server ends where that is asked for.
func TestServer_FirstSetupFails(t *testing.T) {
	s := serve(t, []config.Named{namedModel(t, "m", "fails")}, nil, "--fail-fast")
	assert.Equal(t, "the exit code", <-s.exit, process.ExitFailure)
}

// TestServer_ReadsItsFileAgain: new models come, missing ones leave, and others stay as they are.
func TestServer_ReadsItsFileAgain(t *testing.T) {
	a, b, c := namedModel(t, "a", "good"), namedModel(t, "b", "good"), namedModel(t, "c", "good")
	var next *config.Models
	s := serve(t, []config.Named{a, b}, func() (*config.Models, error) { return next, nil })
	s.until("/models/a/readyz", 200)
	s.until("/models/b/readyz", 200)
	pid := s.models.first().Workers()[0].Status().PID
	next = &config.Models{List: []config.Named{a, c}}
	<-s.readAgain(nil).done
	s.until("/models/c/readyz", 200)
	s.want("POST", "/models/c/predictions", prediction, 200, `"status":"succeeded"`)
	s.want("POST", "/models/b/predictions", prediction, 404, "")
	assert.Equal(t, "the process of a model that has not changed", s.models.first().Workers()[0].Status().PID, pid)
	assert.Eventually(t, "b has left", func() bool { return len(s.models.every()) == 2 })
}

// TestServer_StopsWithinItsGrace: what does not end by then is canceled.
func TestServer_StopsWithinItsGrace(t *testing.T) {
	s := serve(t, []config.Named{namedModel(t, "m", "good")}, nil, "--grace", "100ms")
	s.until("/readyz", 200)
	answered := make(chan string, 1)
	go func() {
		_, answer := s.ask("POST", "/predictions", `{"input":{"s":"forever"}}`)
		answered <- answer
	}()
	assert.Eventually(t, "it runs", func() bool { return s.models.working() })
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil { // New watches for it
		t.Fatal(err)
	}
	assert.Contains(t, "answer", <-answered, `"status":"canceled"`)
	assert.Equal(t, "the exit code", <-s.exit, process.ExitOK)
}
