package tests

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

	"pinion/tests/harness"
)

// documents are the texts for users whose commands are held to. Those of the other examples have their own tests.
func documents(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../docs/*/*.md")
	if err != nil || len(found) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	return append(found, "../README.md", "../CONTRIBUTING.md", "../docs/experiments.md", "../examples/hello/README.md")
}

// command is a line of a document that a reader may type, and the output shown below it.
type command struct {
	document, line, shown string
}

// commands finds the indented lines of the documents that begin like commands. A line that ends with a backslash goes
// on in the next.
func commands(t *testing.T) []command {
	t.Helper()
	start := regexp.MustCompile(`^ {4,8}(?:\$ )?((?:\./build\.sh|(?:(?:\.\./)?bin/|.* \| )?pinion|curl|bench/\S+\.sh)(?: .*)?)$`)
	var found []command
	for _, document := range documents(t) {
		text := readFile(t, document)
		lines := strings.Split(regexp.MustCompile(`\\\n *`).ReplaceAllString(text, ""), "\n")
		for i, line := range lines {
			m := start.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			c := command{document: document, line: strings.TrimSpace(strings.Split(m[1], "  #")[0])}
			for _, next := range lines[i+1:] {
				if rest, ok := strings.CutPrefix(next, "    {"); ok {
					c.shown = "{" + rest
				}
				break
			}
			found = append(found, c)
		}
	}
	return found
}

// TestCommandsOfTheDocumentsWork runs what the documents have a reader run: build.sh's commands must be
// in its help (they run elsewhere: this test is one of them), servers must accept their command
// line, and each curl line must be answered, as shown where an answer is shown.
func TestCommandsOfTheDocumentsWork(t *testing.T) {
	t.Parallel()
	found := commands(t)
	if len(found) < 10 {
		t.Fatalf("only %d commands found: the documents have changed their form", len(found))
	}
	help, err := exec.Command("../build.sh", "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	harness.AnyPython(t)                    // skips the test here, and not within a part of it
	servers := map[string]*harness.Server{} // of each document that needs one
	for _, c := range found {
		document := filepath.Base(c.document)
		t.Run(document+": "+c.line, func(sub *testing.T) {
			if servers[c.document] == nil && strings.HasPrefix(c.line, "curl") {
				servers[c.document] = harness.Ready(t, servedAs(t, c.document)) // until the end of all commands
				allServe(t, servers[c.document])
			}
			t := sub
			words := strings.Fields(c.line)
			if first, second, both := strings.Cut(c.line, " && "); both && first == "./build.sh" {
				words = strings.Fields(second)
			}
			switch {
			case document == "cli.md": // TestCommandsOfTheCLIDocumentWork
			case words[0] == "./build.sh" && len(words) > 1:
				if !regexp.MustCompile(`(?m)^ +` + words[1] + `\b`).Match(help) {
					t.Errorf("./build.sh has no command %s:\n%s", words[1], help)
				}
			case words[0] == "./build.sh":
			case strings.HasPrefix(words[0], "bench/"):
				if _, err := os.Stat("../" + words[0]); err != nil {
					t.Error(err)
				}
			case strings.HasSuffix(words[0], "pinion"):
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				arguments := append(words[1:], "--help") // parsed like the real thing, except for the serving
				if out, err := exec.CommandContext(ctx, harness.Binary(t), arguments...).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			default:
				curl(t, servers[c.document], c)
			}
		})
	}
}

// servedAs says how a document's model is served: by its line "pinion serve NAME=.", with the variables before it, if
// it has one.
func servedAs(t *testing.T, document string) harness.Options {
	t.Helper()
	text := readFile(t, document)
	if m := regexp.MustCompile(`(?m)^    pinion serve ((?:\w+=examples/\w+ ?){2,})$`).FindStringSubmatch(text); m != nil {
		o := harness.Options{Python: harness.AnyPython(t).Path, Args: []string{"--reload"}} // which some of the commands need
		for _, model := range strings.Fields(m[1]) {
			name, dir, _ := strings.Cut(model, "=")
			dir = absolute(t, "../"+dir)
			o.Models = append(o.Models, name+"="+dir)
		}
		return o
	}
	o := harness.Options{Dir: modelOf(t, document)}
	if m := regexp.MustCompile(`(?m)^    ((?:[A-Z_]+=\S+ )*)pinion serve (\w+)=\.$`).FindStringSubmatch(text); m != nil {
		o.Env, o.Args = strings.Fields(m[1]), []string{"--model", m[2]}
	}
	return o
}

// modelOf is the folder of the model that a document shows the code of, made from that code; else examples/hello.
func modelOf(t *testing.T, document string) string {
	t.Helper()
	text := readFile(t, document)
	code := regexp.MustCompile(`(?m)^    from cog import .*\n(?:(?:    .*)?\n)+`).FindString(text)
	if code == "" {
		return absolute(t, "../examples/hello")
	}
	return folder(t, "run.py", regexp.MustCompile(`(?m)^    `).ReplaceAllString(code, ""), "cog.yaml",
		"run: run.py:Runner\n")
}

// curl runs a curl line against the server and compares the answer with what is shown, where … stands
// for anything.
func curl(t *testing.T, server *harness.Server, c command) {
	t.Helper()
	line := strings.ReplaceAll(c.line, "localhost:5000", server.Address)
	if strings.Contains(line, "https://example.com/hook") {
		delivered := make(chan struct{}, 10)
		receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { delivered <- struct{}{} }))
		t.Cleanup(receiver.Close)
		// or the server tries again until it stops
		defer harness.Eventually(t, "the webhook comes", func() bool { return len(delivered) > 0 })
		line = strings.ReplaceAll(line, "https://example.com/hook", receiver.URL)
	}
	run := exec.Command("bash", "-c", line+" -s --fail-with-body")
	run.Dir = t.TempDir() // with the file that they send
	writeFile(t, filepath.Join(run.Dir, "photo.png"), "\x89PNG\r\n\x1a\n")
	out, err := run.CombinedOutput()
	if err != nil && c.shown == "" {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
	if c.shown == "" {
		return
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(c.shown), "…", ".*")
	pattern = regexp.MustCompile(`"predict_time":[0-9\\.]+`).ReplaceAllString(pattern, `"predict_time":[0-9.]+`)
	if !regexp.MustCompile("^" + pattern + "$").Match(out) {
		t.Errorf("%s\nanswers  %s\nshown is %s", line, out, c.shown)
	}
}
