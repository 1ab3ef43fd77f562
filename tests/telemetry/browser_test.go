package telemetry

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// scenes are the functions of browser/*_scenes.py, each with the model of models/page.py that it looks at.
var scenes = []struct {
	name, model, train string
	waits              bool // there is nothing to be ready for
	tokens             bool // the server wants one of tokens below
	audits             bool // the scene needs axe-core
	code               bool // the scene reports the code that the page shows
	prepare            func(t *testing.T, dir, model string)
	args               []string
	scene              string // default: name
	prefix             string // that a proxy puts before all paths
}{
	{name: "form", model: "Form", code: true},
	{name: "labels", model: "Form"},
	{name: "stored", model: "Form"},
	{name: "stored_files", model: "Files"},
	{name: "contrast", model: "Form"},
	{name: "example", model: "Exemplary", code: true},
	{name: "examples", model: "Form", prepare: storeExample},
	{name: "beside", model: "long"},
	{name: "media", model: "Media"},
	{name: "mixed", model: "Mixed", code: true},
	{name: "awkward", model: "Awkward", code: true},
	{name: "errors", model: "Form"},
	{name: "narrow", model: "Form"},
	{name: "stream", model: "Tokens", code: true},
	{name: "items", model: "Items"},
	{name: "stop", model: "Slow"},
	{name: "queue", model: "Slow", args: []string{"--queue", "4"}},
	{name: "prefix", scene: "stream", model: "Tokens", prefix: "/models/speaker", code: true},
	{name: "files", model: "Files"},
	{name: "shapes", model: "Shapes"},
	{name: "late", model: "Late", waits: true},
	{name: "unset", model: "Unset", waits: true},
	{name: "token", model: "Form", waits: true, tokens: true, code: true},
	{name: "storeless", model: "Form", waits: true, tokens: true},
	{name: "train", model: "Late", train: "page.py:train"},
	{name: "audited", model: "Form", audits: true},
	{name: "narrow_audited", scene: "audited_narrow", model: "Mixed", audits: true},
	{name: "chat", model: "Chat", code: true, args: []string{"--model", "speaker"}},
	{name: "chat_off", model: "Chat", args: []string{"--protocols", "none"}},
	{name: "talk", model: "Talk"},
	{name: "talk_left", model: "Talk", train: "page.py:train"},
	{name: "talk_narrow", model: "Talk"},
	{name: "iterator", model: "Words", code: true},
	{name: "progress", model: "Bars"},
	{name: "recorded", model: "Recorded"},
	{name: "history", model: "Secretive"},
	{name: "shared", model: "Secretive"},
	{name: "rows", model: "Rows"},
	{name: "devices", model: "Devices"},
	{name: "archive", model: "Media"},
	{name: "whole", model: "Twice"},
	{name: "film", model: "Film"},
	{name: "theme", model: "Form"},
	{name: "told", model: "Form", prepare: storeAbout},
	{name: "led", model: "Form"},
	{name: "keys", model: "Form"},
	{name: "tabs_audited", scene: "audited_tabs", model: "Shapes", prepare: storeAbout, audits: true},
	{name: "talk_audited", scene: "audited_talk", model: "Talk", audits: true},
	{name: "token_audited", scene: "audited_token", model: "Form", waits: true, tokens: true, audits: true},
	{name: "dialogs_audited", scene: "audited_dialogs", model: "Media", prepare: storeAbout, audits: true},
	{name: "away", model: "Tokens"},
	{name: "reloaded", model: "Reloaded"},
	{name: "proxied", model: "Form"},
	{name: "lengthy", model: "Lengthy"},
	{name: "addresses", model: "Late", prepare: openGate},
	{name: "completions", model: "Complete", waits: true, tokens: true, code: true},
}

// TestBrowser_PageInBrowser looks at /docs in a real browser, as browser/look.py says.
func TestBrowser_PageInBrowser(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	for _, scene := range scenes {
		t.Run(scene.name, func(t *testing.T) {
			if scene.audits {
				axe(t)
			}
			dir := harness.Models(t)
			if scene.train != "" {
				harness.WriteFile(t, filepath.Join(dir, "open"), "")
			}
			if scene.prepare != nil {
				scene.prepare(t, dir, "page.py:"+scene.model)
			}
			o := harness.Options{Dir: dir, Model: "page.py:" + scene.model, Env: []string{"COG_TRAIN_TYPE_STUB=" + scene.train}}
			o.Args = scene.args
			if scene.tokens {
				o.Args = []string{"--auth-token-file", harness.TokenFile(t, "the-token-of-the-page")}
			}
			start := harness.Ready
			if scene.waits {
				start = harness.Start
			}
			s := start(t, o)
			address, function := s.Address, scene.name
			if scene.prefix != "" {
				address = proxied(t, s.Address, scene.prefix)
			}
			if scene.scene != "" {
				function = scene.scene
			}
			actions := map[string]func(){
				"kill":             s.Kill,
				"start":            func() { harness.Ready(t, again(t, o, s)) },
				"change the model": func() { changeModel(t, dir); s.Signal(syscall.SIGHUP) },
			}
			if out := capture(t, function, address, dir, actions); scene.code {
				codeWorks(t, out)
			}
		})
	}
}

// openGate opens what a model waits for in its setup.
func openGate(t *testing.T, dir, _ string) {
	t.Helper()
	harness.WriteFile(t, filepath.Join(dir, "open"), "")
}

// changeModel gives the model Reloaded of models/page.py an input more, and another default and description.
func changeModel(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(dir, "page.py")
	text := harness.ReadFile(t, file)
	for _, change := range [][2]string{
		{`"""Draws."""`, `"""Draws more."""`},
		{`steps: int = 3) -> str:`, `steps: int = 4, seed: int = 7) -> str:`},
		{`return f"{prompt}, {steps}"`, `return f"{prompt}, {steps}, {seed}"`},
	} {
		assert.TrueNow(t, strings.Contains(text, change[0]), "%s: got no %q, want it", file, change[0])
		text = strings.Replace(text, change[0], change[1], 1)
	}
	harness.WriteFile(t, file, text)
}

// axeFile is axe-core, in the cache.
const axeFile = "browser/node_modules/axe-core/axe.min.js"

// axe skips a test where axe-core is missing.
func axe(t *testing.T) { t.Helper(); harness.Tool(t, axeFile) }

// capture runs a scene of browser/*_scenes.py, and returns what it reports. actions are what the scene asks the test to
// do, by name.
func capture(t *testing.T, scene, address, dir string, actions map[string]func()) []byte {
	t.Helper()
	python := harness.Tool(t, "venvs/playwright/bin/python")
	chromium := harness.Tool(t, "", "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable",
		"google-chrome")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, python, "-B", "browser/look.py", chromium, scene, address, dir)
	command.Env = append(harness.BareEnv(), "TMPDIR="+t.TempDir(), "AXE="+filepath.Join("..", ".cache", axeFile),
		"PINION_TEST_PICTURES="+os.Getenv("PINION_TEST_PICTURES"))
	var complaints strings.Builder
	command.Stderr = &complaints
	answers := assert.Must(command.StdinPipe())(t)
	prints := assert.Must(command.StdoutPipe())(t)
	harness.StartCommand(t, command)
	var report []byte
	lines := bufio.NewScanner(prints)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		name, asks := strings.CutPrefix(lines.Text(), "ask ")
		if action := actions[name]; asks && action != nil {
			action()
			_, _ = answers.Write([]byte("done\n")) // a scene that ended meanwhile says so itself
			continue
		}
		report = append(append(report, lines.Bytes()...), '\n')
	}
	assert.NoError(t, errors.Join(lines.Err(), command.Wait()), report, &complaints)
	return report
}

// proxied is the address of a proxy that has a server below a prefix.
func proxied(t *testing.T, address, prefix string) string {
	t.Helper()
	target := assert.Must(url.Parse(address))(t)
	forward := http.StripPrefix(prefix, httputil.NewSingleHostReverseProxy(target))
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Without it a stream breaks whose first byte comes before the proxy has seen the end of the request's body.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL + prefix
}

// storeAbout gives a model's folder a README, a logo and kept examples, some of which are not examples.
func storeAbout(t *testing.T, dir, _ string) {
	t.Helper()
	for name, content := range map[string]string{
		"README.md":               "# The model\n\nDraws **foxes**. <script>alert(1)</script>\n",
		"cog.yaml":                "logo: logo.svg\n",
		"logo.svg":                `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle cx="4" cy="4" r="4"/></svg>`,
		"cog_examples/a_fox.json": `{"input": {"prompt": "a fox", "steps": 7, "unknown": 1}, "output": "fox.svg"}`,
		"cog_examples/fox.svg":    `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>`,
		"cog_examples/words.json": `{"input": {"prompt": "b"}, "output": "once <b>upon</b>"}`,
		"cog_examples/cut.json":   `{"input": `,
		"cog_examples/list.json":  `[1]`,
	} {
		harness.WriteFile(t, filepath.Join(dir, name), content)
	}
}

// storeExample gives a model a document with examples.
func storeExample(t *testing.T, dir, model string) {
	t.Helper()
	var document map[string]any
	harness.FromJSON(t, harness.CLI{Dir: dir}.Good(t, "schema", "--predictor", model), &document)
	body := document
	for _, key := range []string{"paths", "/predictions", "post", "requestBody", "content", "application/json"} {
		body = body[key].(map[string]any)
	}
	body["example"] = harness.Input{"input": harness.Input{"prompt": "a red fox", "steps": 7}}
	body["examples"] = harness.Input{"night": harness.Input{
		"summary": "At night",
		"value":   harness.Input{"input": harness.Input{"prompt": "a black fox"}},
	}}
	file := filepath.Join(dir, ".cog", "openapi_schema.json")
	harness.WriteFile(t, file, harness.ToJSON(t, document))
}

// shownCode is what a scene reports of the code that the page shows.
type shownCode struct {
	Curl, Python, JavaScript string
	OpenAI                   string            // "" means the page has none
	Output                   json.RawMessage   // what the page got
	Files                    map[string][]byte // what the code reads
	Environment              map[string]string
}

// codeWorks pastes the code that the page shows into a shell, Python and Node.js, and compares what it gets with what
// the page got.
func codeWorks(t *testing.T, printed []byte) {
	t.Helper()
	var shown shownCode
	harness.FromJSON(t, printed, &shown)
	dir := t.TempDir()
	for name, content := range shown.Files {
		harness.WriteFile(t, filepath.Join(dir, name), content)
	}
	paste := func(code string, command ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), command[0], command[1:]...)
		c.Dir, c.Env, c.Stdin = dir, harness.BareEnv(), strings.NewReader(code)
		for name, value := range shown.Environment {
			c.Env = append(c.Env, name+"="+value)
		}
		var complaints strings.Builder
		c.Stderr = &complaints
		out, err := c.Output()
		assert.NoError(t, err, code, out, &complaints)
		return string(out)
	}
	streams := strings.Contains(shown.Curl, "event-stream")
	compare := func(what, out string) {
		t.Helper()
		if streams {
			out = string(harness.ToJSON(t, out))
		} else {
			out = lastLine(out)
		}
		harness.EqualJSON(t, "what "+what+" gets", []byte(out), string(shown.Output))
	}
	curl := paste(shown.Curl+"\n", "bash")
	if !streams {
		var p harness.Prediction
		harness.FromJSON(t, curl, &p)
		harness.EqualJSON(t, "what curl gets", p.Output, string(shown.Output))
	} else {
		_, data, _ := strings.Cut(curl, "event: completed\ndata: ")
		var completed struct{ Output []string }
		harness.FromJSON(t, data, &completed)
		harness.EqualJSON(t, "what curl gets", harness.ToJSON(t, strings.Join(completed.Output, "")), string(shown.Output))
	}
	python, node := shown.Python+"\n", shown.JavaScript
	if !streams {
		python += "print()\nprint(json.dumps(prediction[\"output\"]))\n"
		node += "console.log();\nconsole.log(JSON.stringify(prediction.output));\n"
	}
	// At its prompt, where a block ends with an empty line: as somebody pastes it.
	compare("Python", paste(python, harness.AnyPython(t).Path, "-i", "-q"))
	if shown.OpenAI != "" {
		got := paste(shown.OpenAI, harness.Tool(t, "venvs/protocols/bin/python"))
		harness.EqualJSON(t, "what OpenAI's client gets", harness.ToJSON(t, strings.TrimSpace(got)), string(shown.Output))
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Logf("the JavaScript is not run: %v", err)
		return
	}
	compare("JavaScript", paste(node, "node", "--input-type=module"))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
