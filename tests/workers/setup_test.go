package workers

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestSetup_ThatFailsLeavesServerUpWithItsLogs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, model string
		args        []string
		logs        []string
	}{
		{
			"exception", "setups.py:Failing", nil,
			[]string{"about to fail\n", "Traceback", "setups.py", "in setup", "FileNotFoundError: weights.bin is not there"},
		},
		{"exit", "setups.py:Exiting", nil, []string{"SystemExit: cannot go on"}},
		{
			"crash", "setups.py:Crashing", nil,
			[]string{"about to crash\n", "Segmentation fault", "setups.py", "worker killed by SIGSEGV during setup"},
		},
		{"vanished", "setups.py:Vanishing", nil, []string{"worker exited with code 9 during setup"}},
		{"timeout", "setups.py:Hanging", []string{"--setup-timeout", "5s"}, []string{"hanging\n", "5s"}},
		{
			"too many threads", "setups.py:plain",
			[]string{"--concurrency", "257"},
			[]string{"a concurrency of 257 is too high for plain", "at most 256"},
		},
		{"no such file", "nowhere.py:Runner", nil, []string{"nowhere.py"}},
		{"no such class", "setups.py:Absent", nil, []string{"Absent", "Well"}},
		{"syntax error", "syntax.py:run", nil, []string{"syntax.py", "SyntaxError"}},
		{"input without type", "setups.py:Untyped", nil, []string{"setups.py", `"x"`, "no type"}},
		{"union with a path", "setups.py:Union", nil, []string{"setups.py", `"x"`, "Path"}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			s := harness.Start(t, harness.Options{Model: c.model, Args: c.args})
			h := s.WaitHealth("SETUP_FAILED")
			assert.True(t, h.Setup.Status == "failed" && h.Setup.CompletedAt != "",
				"health is %+v, want Status failed and CompletedAt non-empty", h)
			for _, text := range c.logs {
				assert.Contains(t, "the setup's logs", h.Setup.Logs, text)
			}
			a := s.Input(harness.Input{})
			harness.WantCode(t, "prediction", a, http.StatusServiceUnavailable)
			assert.Contains(t, "prediction: string(a.Body)", string(a.Body), "etup")
			assert.Equal(t, `prediction: a.Header.Get("Pinion-Retry")`, a.Header.Get("Pinion-Retry"), "elsewhere")
			harness.WantCode(t, "schema", s.Do(http.MethodGet, "/openapi.json", nil), http.StatusServiceUnavailable)
			harness.WantCode(t, "discovery", s.Do(http.MethodGet, "/", nil), http.StatusOK)
			harness.WantCode(t, "shutdown", s.Do(http.MethodPost, "/shutdown", nil), http.StatusOK)
			s.Ended(0)
		})
	}
}

func TestSetup_RunsOnceBeforeFirstPredictionAndItsStatePersists(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "setups.py:Well"})
		if logs := s.Health().Setup.Logs; logs != "loading\ncareful\nraw\n" && logs != "loading\nraw\ncareful\n" {
			t.Errorf("logs are %q, want %q or %q", logs, "loading\ncareful\nraw\n", "loading\nraw\ncareful\n")
		}
		for _, want := range []string{"42", "43", "44"} {
			harness.EqualJSON(t, "output", s.Succeed(harness.Input{}).Output, want)
		}
		s.Stop()
		assert.Equal(t, "atexit handlers ran", len(harness.ModelLines(t, s, "atexit.txt")), 1)
	})
}

func TestSetup_WhatImportAndSetupWriteIsInSetupsLogs(t *testing.T) {
	t.Parallel()
	if os.Getenv("PINION_TEST_PRELOAD") != "" {
		t.Skip("what the import writes is the preload process's")
	}
	s := harness.Ready(t, harness.Options{Model: "loud.py"})
	var want strings.Builder
	want.WriteString("while it was imported\n")
	for i := range 3000 { // 3 MB; a pipe holds 64 KiB
		fmt.Fprintf(&want, "%d %s\n", i, strings.Repeat("x", 1000))
	}
	assert.Equal(t, "the setup's logs", s.Health().Setup.Logs, want.String())
	assert.Equal(t, "logs", s.Succeed(harness.Input{}).Logs, "one\n")
}

func TestSetup_GetsItsWeights(t *testing.T) {
	t.Parallel()
	with := harness.Models(t)
	assert.NoError(t, os.Mkdir(filepath.Join(with, "weights"), 0o755))
	for _, c := range []struct {
		name, dir string
		env       []string
		want      string
	}{
		{"none", "", nil, "NoneType None"},
		{"folder", with, nil, "Path weights"},
		{"variable", with, []string{"COG_WEIGHTS=/other/place"}, "Path /other/place"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := harness.Ready(t, harness.Options{Dir: c.dir, Model: "setups.py:Weighty", Env: c.env})
			assert.Equal(t, "the output", s.Succeed(harness.Input{}).Text(t), c.want)
		})
	}
}

func TestSetup_ThatFailsInLaterWorkerIsTriedAgainAndThenGivenUp(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "setups.py:Second", Args: []string{"--queue", "2"}})
	s.Fail(harness.Input{})
	assert.Eventually(t, "the server gives up", func() bool {
		h := s.Health()
		return h.Status == "DEFUNCT" || h.Status == "SETUP_FAILED"
	})
	h := s.Health()
	assert.Contains(t, "the setup's logs", h.Setup.Logs, "RuntimeError: the second time")
	assert.True(t, h.Workers[0].Restarts != 0, "health is %+v, want Restarts not 0", h)
	harness.WantCode(t, "prediction", s.Input(harness.Input{}), http.StatusServiceUnavailable)
}

func TestSetup_SchemaIsMadeFromSignature(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "typed.py"})
	a := s.Do(http.MethodGet, "/openapi.json", nil)
	harness.WantCode(t, "schema", a, http.StatusOK)
	var doc struct {
		OpenAPI    string
		Info       struct{ Title string }
		Components struct {
			Schemas struct {
				Input struct {
					Properties map[string]map[string]any
				}
			}
		}
	}
	assert.NoError(t, harness.DecodeExact(a.Body, &doc))
	assert.True(t, doc.OpenAPI == "3.0.2" && doc.Info.Title == filepath.Base(s.Dir),
		"document is %.200s: got OpenAPI %q, want OpenAPI 3.0.2 and Title %q", a.Body, doc.OpenAPI, filepath.Base(s.Dir))
	text := doc.Components.Schemas.Input.Properties["text"]
	for key, want := range map[string]string{
		"type": "string", "default": "abc", "title": "Text", "minLength": "2", "maxLength": "4", "pattern": "^[a-z]+$",
		"x-order": "0",
	} {
		assert.Equal(t, key+" of text", fmt.Sprint(text[key]), want)
	}
	assert.Equal(t, "inputs", len(doc.Components.Schemas.Input.Properties), 14)
}
