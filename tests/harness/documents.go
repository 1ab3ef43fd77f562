package harness

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// program finds the indented code of a document that begins with a comment that names its file, and the output shown
// below it.
func program(t *testing.T, document, comment string) (code, prints string) {
	t.Helper()
	text := ReadFile(t, document)
	m := regexp.MustCompile(`(?m)^    ` + regexp.QuoteMeta(comment) +
		`\n((?:(?:    .*)?\n)+)prints\n\n((?:    .*\n)+)`).FindStringSubmatch(text)
	assert.TrueNow(t, m != nil, "%s has no program %s with what it prints", document, comment)
	outdent := regexp.MustCompile(`(?m)^    `)
	return outdent.ReplaceAllString(m[1], ""), outdent.ReplaceAllString(m[2], "")
}

// RunProgram runs a program that a document shows, with other addresses, and compares what it prints.
func RunProgram(t *testing.T, document, comment, interpreter string, addresses ...string) {
	t.Helper()
	code, prints := program(t, document, comment)
	name := comment[strings.LastIndex(comment, " ")+1:]
	dir := NewFolder(t, name, strings.NewReplacer(addresses...).Replace(code))
	assert.Equal(t, "what "+name+" prints", RunTool(t, dir, nil, interpreter, name), prints)
}

// documents returns the texts for users whose commands are tested. Those of the other examples have their own tests.
func documents(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../docs/*/*.md")
	assert.TrueNow(t, err == nil && len(found) != 0, "got no documents: %v, want at least one", err)
	return append(found, "../README.md", "../CONTRIBUTING.md", "../docs/experiments.md", "../examples/hello/README.md")
}

// Command is a line of a document that a reader may type, and the output shown below it.
type Command struct {
	Document, Line, Shown string
}

// Commands finds the indented lines of the documents that begin like commands. A line that ends with a backslash goes
// on in the next.
func Commands(t *testing.T) []Command {
	t.Helper()
	start := regexp.MustCompile(`^ {4,8}(?:\$ )?((?:\./build\.sh|(?:(?:\.\./)?bin/|.* \| )?pinion|curl|bench/\S+\.sh)(?: .*)?)$`)
	var found []Command
	for _, document := range documents(t) {
		text := ReadFile(t, document)
		lines := strings.Split(regexp.MustCompile(`\\\n *`).ReplaceAllString(text, ""), "\n")
		for i, line := range lines {
			m := start.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			c := Command{Document: document, Line: strings.TrimSpace(strings.Split(m[1], "  #")[0])}
			for _, next := range lines[i+1:] {
				if rest, ok := strings.CutPrefix(next, "    {"); ok {
					c.Shown = "{" + rest
				}
				break
			}
			found = append(found, c)
		}
	}
	return found
}

// ModelOf returns the folder of the model that a document shows the code of, made from that code; else examples/hello.
func ModelOf(t *testing.T, document string) string {
	t.Helper()
	text := ReadFile(t, document)
	code := regexp.MustCompile(`(?m)^    from cog import .*\n(?:(?:    .*)?\n)+`).FindString(text)
	if code == "" {
		return Absolute(t, "../examples/hello")
	}
	return NewFolder(t, "run.py", regexp.MustCompile(`(?m)^    `).ReplaceAllString(code, ""), "cog.yaml",
		"run: run.py:Runner\n")
}
