package docs

import (
	"os/exec"
	"testing"

	"pinion/tests/harness"
)

// TestClients_OfDocumentsWork runs the clients that docs/how-to/clients.md shows, and compares what they print.
func TestClients_OfDocumentsWork(t *testing.T) {
	t.Parallel()
	const document = "../docs/how-to/clients.md"
	s := harness.Ready(t, harness.Options{Dir: harness.ModelOf(t, document)})
	for comment, run := range map[string]string{"# client.py": harness.AnyPython(t).Path, "// client.mjs": "node"} {
		t.Run(comment, func(t *testing.T) {
			if _, err := exec.LookPath(run); err != nil {
				t.Skipf("there is no %s", run)
			}
			harness.RunProgram(t, document, comment, run, "http://localhost:5000", s.Address)
		})
	}
}

// TestClients_OfChatsWork runs those of docs/reference/protocols.md that ask the model of docs/how-to/openai.md.
func TestClients_OfChatsWork(t *testing.T) {
	t.Parallel()
	python := harness.Tool(t, "venvs/protocols/bin/python")
	s := harness.Ready(t, harness.Options{
		Dir: harness.ModelOf(t, "../docs/how-to/openai.md"), Args: []string{"--model", "echo"},
	})
	for _, comment := range []string{"# message.py", "# respond.py"} {
		harness.RunProgram(t, "../docs/reference/protocols.md", comment, python, "http://localhost:5000", s.Address)
	}
}

// TestClients_OfProtocolsPageWork runs the clients of other protocols that docs/reference/protocols.md shows.
func TestClients_OfProtocolsPageWork(t *testing.T) {
	t.Parallel()
	const document = "../docs/reference/protocols.md"
	python := harness.Tool(t, "venvs/protocols/bin/python")
	o := servedAs(t, document)
	o.Args = append(o.Args, "--grpc-port=0")
	s := harness.Ready(t, o)
	for _, comment := range []string{"# infer.py", "# infer_grpc.py", "# complete.py", "# run_replicate.py", "# call_tool.py"} {
		t.Run(comment, func(t *testing.T) {
			harness.RunProgram(t, document, comment, python, "localhost:5000", harness.Host(s), "localhost:8001",
				s.GRPCAddress())
		})
	}
}

// TestClients_OfStreamedInputsWork runs the client of Triton that docs/how-to/streams-in.md shows.
func TestClients_OfStreamedInputsWork(t *testing.T) {
	t.Parallel()
	const document = "../docs/how-to/streams-in.md"
	python := harness.Tool(t, "venvs/protocols/bin/python")
	o := servedAs(t, document)
	o.Args = append(o.Args, "--grpc-port=0", "--model", "talk")
	s := harness.Ready(t, o)
	harness.RunProgram(t, document, "# talk.py", python, "localhost:8001", s.GRPCAddress())
}
