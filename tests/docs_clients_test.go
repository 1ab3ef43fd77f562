package tests

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/harness"
)

// program finds the indented code of a document that begins with a comment that names its file, and the output shown
// below it.
func program(t *testing.T, document, comment string) (code, prints string) {
	t.Helper()
	text := readPage(t, document).text
	m := regexp.MustCompile(`(?m)^    ` + regexp.QuoteMeta(comment) +
		`\n((?:(?:    .*)?\n)+)prints\n\n((?:    .*\n)+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%s has no program %s with what it prints", document, comment)
	}
	outdent := regexp.MustCompile(`(?m)^    `)
	return outdent.ReplaceAllString(m[1], ""), outdent.ReplaceAllString(m[2], "")
}

// runProgram runs a program that a document shows, with other addresses, and compares what it prints.
func runProgram(t *testing.T, document, comment, interpreter string, addresses ...string) {
	t.Helper()
	code, prints := program(t, document, comment)
	name := comment[strings.LastIndex(comment, " ")+1:]
	dir := folder(t, name, strings.NewReplacer(addresses...).Replace(code))
	same(t, "what "+name+" prints", runTool(t, dir, nil, interpreter, name), prints)
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
			runProgram(t, document, comment, run, "http://localhost:5000", s.Address)
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
			runProgram(t, document, comment, python, "localhost:5000", host(s), "localhost:8001", s.GRPCAddress())
		})
	}
}
