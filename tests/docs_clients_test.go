package tests

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/harness"
)

// program finds the indented code of a document that begins with a comment that names its file, and the output shown below it.
func program(t *testing.T, document, comment string) (code, prints string) {
	t.Helper()
	text := readPage(t, document).text
	m := regexp.MustCompile(`(?m)^    ` + regexp.QuoteMeta(comment) + `\n((?:(?:    .*)?\n)+)prints\n\n((?:    .*\n)+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%s has no program %s with what it prints", document, comment)
	}
	outdent := regexp.MustCompile(`(?m)^    `)
	return outdent.ReplaceAllString(m[1], ""), outdent.ReplaceAllString(m[2], "")
}

// TestClientsOfTheDocumentsWork runs the clients that docs/how-to/clients.md shows, and compares what they print.
func TestClientsOfTheDocumentsWork(t *testing.T) {
	t.Parallel()
	const document = "../docs/how-to/clients.md"
	s := harness.Ready(t, harness.Options{Dir: modelOf(t, document)})
	for comment, run := range map[string]string{"# client.py": harness.AnyPython(t).Path, "// client.mjs": "node"} {
		t.Run(comment, func(t *testing.T) {
			if _, err := exec.LookPath(run); err != nil {
				t.Skipf("there is no %s", run)
			}
			code, prints := program(t, document, comment)
			file := filepath.Join(t.TempDir(), comment[strings.LastIndex(comment, " ")+1:])
			writeFile(t, file, strings.Replace(code, "http://localhost:5000", s.Address, 1))
			same(t, "what it prints", runTool(t, filepath.Dir(file), nil, run, file), prints)
		})
	}
}

// TestClientsOfTheProtocolsPageWork runs the clients of other protocols that docs/reference/protocols.md shows.
func TestClientsOfTheProtocolsPageWork(t *testing.T) {
	t.Parallel()
	const document = "../docs/reference/protocols.md"
	python := harness.Tool(t, "venvs/protocols/bin/python")
	o := servedAs(t, document)
	o.Args = append(o.Args, "--grpc-port=0")
	s := harness.Ready(t, o)
	for _, comment := range []string{"# infer.py", "# infer_grpc.py", "# complete.py"} {
		t.Run(comment, func(t *testing.T) {
			code, prints := program(t, document, comment)
			file := filepath.Join(t.TempDir(), strings.TrimPrefix(comment, "# "))
			code = strings.ReplaceAll(code, "localhost:5000", strings.TrimPrefix(s.Address, "http://"))
			code = strings.ReplaceAll(code, "localhost:8001", s.GRPCAddress())
			writeFile(t, file, code)
			same(t, "what it prints", runTool(t, filepath.Dir(file), nil, python, file), prints)
		})
	}
}
