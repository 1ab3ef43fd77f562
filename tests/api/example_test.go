package api

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// exampleHealth is what health says where the example was asked for.
type exampleHealth struct {
	Status  string `json:"status"`
	Example *struct {
		Status string `json:"status"`
		Error  string `json:"error"`
	} `json:"example"`
	Setup struct {
		Logs string `json:"logs"`
	} `json:"setup"`
}

// readExampleHealth asks for health.
func readExampleHealth(t *testing.T, s *harness.Server, path string) (h exampleHealth) {
	t.Helper()
	a := s.Do(http.MethodGet, path, nil)
	assert.True(t, json.Unmarshal(a.Body, &h) == nil, "got %s, want JSON", a)
	return h
}

func TestExample_RunsBeforeModelIsReady(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		harness.NeedModule(t, python, "numpy")
		for _, c := range []struct {
			model string
			list  bool
			args  []string
		}{
			{"Sync", false, nil},
			{"Sync", false, []string{"--preload"}},
			{"Async", false, nil},
			{"Generator", true, nil},
			{"AsyncGenerator", true, nil},
			{"Batch", false, nil},
			{"AsyncBatch", false, nil},
			{"Prepared", false, nil},
		} {
			t.Run(strings.Join(append([]string{c.model}, c.args...), " "), func(t *testing.T) {
				t.Parallel()
				s := harness.Ready(t, harness.Options{Python: python.Path, Model: "examples.py:" + c.model, Args: c.args})
				want := `{"runs":2,"text":"mine"}`
				if c.list {
					want = "[" + want + "]"
				}
				if a := s.Succeed(harness.Input{"text": "mine"}); string(a.Output) != want || strings.Contains(a.Logs, "example") {
					t.Errorf(`got %s, want Output %q and Logs without "example"`, a, want)
				}
				h := readExampleHealth(t, s, "/health-check")
				assert.True(t, h.Setup.Logs == "set up\nrun with example\n" && h.Example == nil,
					"health is %+v, want Logs %q and Example nil", h, "set up\nrun with example\n")
				h = readExampleHealth(t, s, "/health-check?example")
				assert.True(t, h.Status == "READY" && h.Example != nil && h.Example.Status == "succeeded",
					"health is %+v, want h.Status READY and h.Example.Status succeeded", h)
				assert.Contains(t, "the output", string(s.Succeed(harness.Input{"text": "mine"}).Output), `"runs":4`)
				wantExample(t, s, `{"text":"example"}`)
			})
		}
	})
}

// wantExample looks for the example in the document of a server.
func wantExample(t *testing.T, s *harness.Server, want string) {
	t.Helper()
	var document struct {
		Components struct {
			Schemas struct {
				Input struct {
					Example json.RawMessage `json:"example"`
				}
			} `json:"schemas"`
		} `json:"components"`
	}
	a := s.Do(http.MethodGet, "/openapi.json", nil)
	assert.True(t, json.Unmarshal(a.Body, &document) == nil, "got %s, want JSON", a)
	assert.Equal(t, "the document's example", string(document.Components.Schemas.Input.Example), want)
}

func TestExample_ModelThatFailsItsOwnExampleIsNotReady(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Model: "examples.py:Failing"})
	s.WaitHealth("SETUP_FAILED")
	h := readExampleHealth(t, s, "/health-check")
	for _, want := range []string{"ValueError: it cannot do this", "the model's example failed"} {
		assert.Contains(t, "the logs", h.Setup.Logs, want)
	}
	off := harness.Ready(t, harness.Options{Model: "examples.py:Failing", Args: []string{"--no-warm-up"}})
	off.Succeed(harness.Input{"text": "mine"})
}

func TestExample_ShowsThatModelIsBroken(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "examples.py:Ailing"})
	s.Succeed(harness.Input{"text": "mine"})
	harness.WantCode(t, "readiness", s.Do(http.MethodGet, "/readyz", nil), http.StatusOK)
	a := s.Do(http.MethodGet, "/readyz?example", nil)
	harness.WantAnswer(t, "the answer", a, http.StatusServiceUnavailable, "RuntimeError: the device is lost")
	h := readExampleHealth(t, s, "/health-check?example=1")
	assert.True(t, h.Status == "UNHEALTHY" && h.Example.Status == "failed" &&
		h.Example.Error == "RuntimeError: the device is lost", "health is %+v, want UNHEALTHY, and why the example failed", h)
	s.Do(http.MethodGet, "/health-check?example", nil, "Sec-Fetch-Site", "cross-site")
	s.Stop()                                          // then its log is whole
	if n := s.Log.Count("run with example"); n != 3 { // setup's, and two that were asked for
		t.Errorf("it ran %d times: a foreign page had it run, want 3", n)
	}
}

func TestExample_OfFilesAndArrays(t *testing.T) {
	t.Parallel()
	python := harness.AnyPython(t)
	harness.NeedModule(t, python, "numpy")
	s := harness.Ready(t, harness.Options{Model: "examples.py:Values"})
	note := harness.ReadFile(t, filepath.Join(s.Dir, "note.txt"))
	text := "run with " + strings.TrimSpace(note) + " 3.5 1"
	s.WaitLog(text)
	assert.Equal(t, "runs of the example", s.Log.Count(text), 1)
	h := readExampleHealth(t, s, "/health-check?example")
	assert.True(t, h.Example != nil && h.Example.Status == "succeeded", "health is %+v, want Status succeeded", h)
}

func TestExample_FromFile(t *testing.T) {
	t.Parallel()
	dir := harness.Models(t)
	file := filepath.Join(dir, "cog_example.json")
	write := func(text string) { harness.WriteFile(t, file, text) }
	write(`{"text": "from the file"}`)
	s := harness.Ready(t, harness.Options{Dir: dir, Model: "examples.py:FromFile"})
	wantExample(t, s, `{"text":"from the file"}`)
	s.Stop()
	assert.Equal(t, "runs of the example", s.Log.Count("run with from the file"), 1)
	python := harness.AnyPython(t).Path
	bench := exec.Command(harness.Binary(t), "bench", dir, "--predictor", "examples.py:FromFile", "--python", python, "-d",
		"1s", "--warmup", "0s", "-o", "-")
	if out, err := bench.CombinedOutput(); err != nil {
		bench = exec.Command(harness.Binary(t), "bench", "--help")
		help, _ := bench.CombinedOutput()
		t.Errorf("bench: got %v, want no error\n%s\n%s", err, out, help)
	}
	for text, want := range map[string]string{
		`{"text": }`: "cog_example.json is not valid JSON", `[1]`: "cog_example.json must be a JSON object",
		`{}`: `is missing the required input "text"`,
	} {
		write(text)
		s := harness.Start(t, harness.Options{Dir: dir, Model: "examples.py:FromFile"})
		s.WaitHealth("SETUP_FAILED")
		assert.Eventually(t, text+": the log has "+want, func() bool {
			return strings.Contains(s.Log.String(), strings.ReplaceAll(want, `"`, `\"`))
		})
	}
}

func TestExample_FaultyExampleIsRefused(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"Unknown": `has an unknown input "txt"; valid inputs are: text`,
		"Wrong":   `input "text" is not of type str`,
		"Missing": `input "file": `,
		"Secret":  `has the secret input "token"`,
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			s := harness.Start(t, harness.Options{Model: "examples.py:" + model})
			s.WaitHealth("SETUP_FAILED")
			h := readExampleHealth(t, s, "/health-check")
			assert.Contains(t, "the logs", h.Setup.Logs, want)
		})
	}
}
