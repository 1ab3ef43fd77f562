package tests

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/tests/harness"
)

// What tests of the page need: a Python that has playwright (tests/requirements-browser.txt), and a Chromium.
const (
	envPlaywright = "PINION_TEST_PLAYWRIGHT"
	envChromium   = "PINION_TEST_CHROMIUM"
)

// scenes are the functions of browser/look.py, each with the model of models/page.py that it looks at.
var scenes = []struct {
	name, model, train string
	waits              bool // there is nothing to be ready for
	tokens             bool // the server wants one of tokens below
}{
	{name: "form", model: "Form"},
	{name: "errors", model: "Form"},
	{name: "narrow", model: "Form"},
	{name: "stream", model: "Tokens"},
	{name: "items", model: "Items"},
	{name: "stop", model: "Slow"},
	{name: "files", model: "Files"},
	{name: "shapes", model: "Shapes"},
	{name: "late", model: "Late", waits: true},
	{name: "unset", model: "Unset", waits: true},
	{name: "token", model: "Form", waits: true, tokens: true},
	{name: "train", model: "Late", train: "page.py:train"},
}

// TestThePageInABrowser looks at /docs in a real browser, as browser/look.py says.
func TestThePageInABrowser(t *testing.T) {
	t.Parallel()
	python, chromium := os.Getenv(envPlaywright), os.Getenv(envChromium)
	if python == "" || chromium == "" {
		t.Skipf("%s and %s name no Python with playwright and no Chromium: ./build.sh test installs them where it can", envPlaywright, envChromium)
	}
	for _, scene := range scenes {
		t.Run(scene.name, func(t *testing.T) {
			dir := harness.Models(t)
			if scene.train != "" {
				if err := os.WriteFile(filepath.Join(dir, "open"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			o := harness.Options{Dir: dir, Model: "page.py:" + scene.model, Env: []string{"COG_TRAIN_TYPE_STUB=" + scene.train}}
			if scene.tokens {
				o.Args = []string{"--auth-token-file", tokenFile(t, "the-token-of-the-page")}
			}
			start := harness.Ready
			if scene.waits {
				start = harness.Start
			}
			s := start(t, o)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			command := exec.CommandContext(ctx, python, "-B", "browser/look.py", chromium, scene.name, s.Address, dir)
			command.Env = append(harness.BareEnv(), "TMPDIR="+t.TempDir())
			var complaints strings.Builder
			command.Stderr = &complaints
			out, err := command.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, &complaints)
			}
			if scene.name == "form" {
				codeWorks(t, out)
			}
		})
	}
}

// codeWorks runs the requests that the page shows for elsewhere, and compares what they bring.
func codeWorks(t *testing.T, shown []byte) {
	t.Helper()
	var code struct {
		Curl, Python string
		Output       json.RawMessage
	}
	if err := json.Unmarshal(shown, &code); err != nil {
		t.Fatalf("%v in %s", err, shown)
	}
	out, err := exec.CommandContext(t.Context(), "bash", "-c", code.Curl).Output()
	var p harness.Prediction
	if err != nil || json.Unmarshal(out, &p) != nil {
		t.Fatalf("%s\n%v: %s", code.Curl, err, out)
	}
	sameJSON(t, "what curl gets", p.Output, string(code.Output))
	out, err = exec.CommandContext(t.Context(), harness.AnyPython(t).Path, "-c", code.Python+`; print(json.dumps(1))`).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Euler") {
		t.Errorf("%s\n%v: %s", code.Python, err, out)
	}
}
