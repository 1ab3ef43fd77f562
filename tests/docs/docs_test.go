package docs

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestDocs_CommandsOfDocumentsWork runs what the documents have a reader run: build.sh's commands must be
// in its help (they run elsewhere: this test is one of them), servers must accept their command
// line, and each curl line must be answered, as shown where an answer is shown.
func TestDocs_CommandsOfDocumentsWork(t *testing.T) {
	t.Parallel()
	found := harness.Commands(t)
	assert.TrueNow(t, len(found) >= 10,
		"only %d commands found: the documents have changed their form, want at least 10", len(found))
	help := assert.Must(exec.Command("../build.sh", "help").Output())(t)
	harness.AnyPython(t)                    // skips the test here, and not within a part of it
	servers := map[string]*harness.Server{} // of each document that needs one
	for _, c := range found {
		document := filepath.Base(c.Document)
		t.Run(document+": "+c.Line, func(sub *testing.T) {
			if servers[c.Document] == nil && strings.HasPrefix(c.Line, "curl") {
				servers[c.Document] = harness.Ready(t, servedAs(t, c.Document)) // until the end of all commands
				harness.WaitModels(t, servers[c.Document])
			}
			t := sub
			words := strings.Fields(c.Line)
			if first, second, both := strings.Cut(c.Line, " && "); both && first == "./build.sh" {
				words = strings.Fields(second)
			}
			if _, last, piped := strings.Cut(c.Line, " | "); piped && strings.HasPrefix(last, "pinion ") {
				words = strings.Fields(last)
			}
			switch {
			case document == "cli.md": // TestCLI_CommandsOfCLIDocumentWork
			case words[0] == "./build.sh" && len(words) > 1:
				assert.True(t, regexp.MustCompile(`(?m)^ +`+words[1]+`\b`).Match(help),
					"./build.sh has no command %s, want a match of %s:\n%s", words[1], `(?m)^ +`+words[1]+`\b`, help)
			case words[0] == "./build.sh":
			case strings.HasPrefix(words[0], "bench/"):
				if _, err := os.Stat("../" + words[0]); err != nil {
					t.Error(err)
				}
			case strings.HasSuffix(words[0], "pinion"):
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				arguments := append(words[1:], "--help") // parsed like the real thing, except for the serving
				out, err := exec.CommandContext(ctx, harness.Binary(t), arguments...).CombinedOutput()
				assert.True(t, err == nil, "got %v, want no error: %s", err, out)
			default:
				curl(t, servers[c.Document], c)
			}
		})
	}
}

// servedAs says how a document's model is served: by its line "pinion serve NAME=.", with the variables before it, or
// "pinion serve examples/NAME", if it has one.
func servedAs(t *testing.T, document string) harness.Options {
	t.Helper()
	text := harness.ReadFile(t, document)
	if m := regexp.MustCompile(`(?m)^    pinion serve (examples/\w+)$`).FindStringSubmatch(text); m != nil {
		python := harness.AnyPython(t)
		harness.NeedModule(t, python, "PIL") // of examples/diffusion
		return harness.Options{Python: python.Path, Dir: harness.Absolute(t, "../"+m[1])}
	}
	if m := regexp.MustCompile(`(?m)^    pinion serve ((?:\w+=examples/\w+ ?){2,})$`).FindStringSubmatch(text); m != nil {
		o := harness.Options{Python: harness.AnyPython(t).Path, Args: []string{"--reload"}} // which some of the commands need
		for _, model := range strings.Fields(m[1]) {
			name, dir, _ := strings.Cut(model, "=")
			dir = harness.Absolute(t, "../"+dir)
			o.Models = append(o.Models, name+"="+dir)
		}
		for _, version := range []string{"ocr@1", "ocr@2"} { // of the file that the page shows
			if strings.Contains(text, version+": ") {
				o.Models = append(o.Models, version+"="+harness.Absolute(t, "../examples/hello"))
			}
		}
		return o
	}
	o := harness.Options{Dir: harness.ModelOf(t, document)}
	if m := regexp.MustCompile(`(?m)^    ((?:[A-Z_]+=\S+ )*)pinion serve (\w+)=\.$`).FindStringSubmatch(text); m != nil {
		o.Env, o.Args = strings.Fields(m[1]), []string{"--model", m[2]}
	}
	return o
}

// curl runs a curl line against the server and compares the answer with what is shown, where … stands
// for anything.
func curl(t *testing.T, server *harness.Server, c harness.Command) {
	t.Helper()
	line := strings.ReplaceAll(c.Line, "localhost:5000", server.Address)
	if strings.Contains(line, "https://example.com/hook") {
		delivered := make(chan struct{}, 10)
		receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { delivered <- struct{}{} }))
		t.Cleanup(receiver.Close)
		// or the server tries again until it stops
		defer assert.Eventually(t, "the webhook comes", func() bool { return len(delivered) > 0 })
		line = strings.ReplaceAll(line, "https://example.com/hook", receiver.URL)
	}
	run := exec.Command("bash", "-c", line+" -s --fail-with-body")
	run.Dir = t.TempDir() // with the file that they send
	harness.WriteFile(t, filepath.Join(run.Dir, "photo.png"), "\x89PNG\r\n\x1a\n")
	out, err := run.CombinedOutput()
	assert.TrueNow(t, err == nil || c.Shown != "", "%s: got %v, want no error: %s", line, err, out)
	if c.Shown == "" {
		return
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(c.Shown), "…", ".*")
	pattern = regexp.MustCompile(`"predict_time":[0-9\\.]+`).ReplaceAllString(pattern, `"predict_time":[0-9.]+`)
	assert.True(t, regexp.MustCompile("^"+pattern+"$").Match(out),
		"%s, want a match of %s\nanswers %s\nshown is %s", line, "^"+pattern+"$", out, c.Shown)
}
