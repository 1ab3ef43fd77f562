package cli

import (
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestFirstContact_PathsOfOtherServers name the route that was meant.
func TestFirstContact_PathsOfOtherServers(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "echo.py:text"})
	for path, want := range map[string]string{
		"/predict":      "POST /predictions with",
		"/predictions/": "POST /predictions with",
		"/inference":    "POST /predictions with",
		"/health":       "GET /health-check",
		"/ready":        "GET /readyz",
		"/nothing":      "",
	} {
		a := s.Do(http.MethodPost, path, []byte(`{}`))
		harness.WantAnswer(t, path, a, http.StatusNotFound, `{"detail":"Not Found`)
		assert.True(t, strings.Contains(string(a.Body), "Not Found: "+want) == (want != ""), "%s: got %s, want %q", path, a.Body, want)
	}
}

// TestFirstContact_FlatBody: inputs beside "input" are named in the body of a refusal, and in that of an answer.
func TestFirstContact_FlatBody(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", "def run(text: str, n: int = 1) -> str:\n    return text * n\n"), Model: "run.py:run",
	})
	harness.WantAnswer(t, "a flat body", s.Create(harness.Input{"text": "hi"}), http.StatusUnprocessableEntity,
		`"msg":"Field required","type":"value_error.missing"}],"warnings":["unknown key \"text\"; did you mean \"text\" in \"input\"?"]}`)
	a := s.Create(harness.Input{"input": harness.Input{"text": "hi"}, "n": 2})
	harness.WantAnswer(t, "half a flat body", a, http.StatusOK, `"output":"hi"`)
	harness.WantAnswer(t, "half a flat body", a, http.StatusOK, `"warnings":["unknown key \"n\"; did you mean \"n\" in \"input\"?"]`)
	harness.WantAnswer(t, "a misspelt input", s.Input(harness.Input{"text": "hi", "m": 2}), http.StatusOK,
		`"warnings":["unknown input \"m\"; did you mean \"n\"?"]`)
}

// TestFirstContact_QuietSetup says in the log, where that is no terminal, that it runs.
func TestFirstContact_QuietSetup(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", `
class Runner:
    def setup(self):
        print("loading weights")
        open("gate").read()

    def run(self) -> str:
        return "ready"
`)
	open := harness.MakeFIFO(t, dir, "gate")
	s := harness.Start(t, harness.Options{Dir: dir, Model: "run.py:Runner"})
	line := s.WaitLog("the model is being set up")
	assert.True(t, strings.Contains(line.Raw, `"last_line":"loading weights"`), "the line: %s", line.Raw)
	open()
	s.WaitHealth("READY")
	s.Succeed(harness.Input{})
}

// TestFirstContact_MethodsThatCannotBeCalled: check finds a missing self, and what setup never gets.
func TestFirstContact_MethodsThatCannotBeCalled(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, c := range []struct{ setup, run, want string }{
			{"self, device", "self, n: int", `run.py:3: parameter "device" of Runner.setup: setup() gets weights and nothing else`},
			{"self, *, device", "self, n: int", `parameter "device" of Runner.setup`},
			{"", "self, n: int", "run.py:3: Runner.setup: it has no self: write def setup(self, …)"},
			{"self", "n: int", "run.py:5: Runner.run: it has no self: write def run(self, …)"},
			{"self", "", "run.py:5: Runner.run: it has no self"},
			{"self, weights, device=None, *, more=1", "this, n: int", ""},
			{"self, *args", "*args, **kwargs", ""},
		} {
			code := "import cog\nclass Runner(cog.BaseRunner):\n    def setup(" + c.setup + "):\n        pass\n    def run(" +
				c.run + ") -> int:\n        return 1\n"
			out := harness.CLI{Dir: harness.NewFolder(t, "run.py", code)}.
				Run(t, "check", "--predictor", "run.py:Runner", "--python", python.Path)
			assert.True(t, strings.Contains(out.Stdout+out.Stderr, c.want), "%v: got %s%s, want %q", c, out.Stdout, out.Stderr, c.want)
			assert.True(t, (out.Code == 0) == (c.want == ""), "%v: exit %d\n%s%s", c, out.Code, out.Stdout, out.Stderr)
		}
	})
}
