package protocols

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// schemathesisChecks are those of its checks that the server is held to. What the document says of a request is what
// Cog says: not the rules for ids and URLs. So positive_data_acceptance is left out, and negative_data_rejection
// because by the contract a created_at that is not a time is ignored, and no body is {}. A HEAD is answered wherever a
// GET is, so unsupported_method and allow_header_conformance are left out, too.
const schemathesisChecks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance," +
	"response_headers_conformance"

// TestSchemathesis_FindsNothing has schemathesis make requests from each model's own document, good ones and bad ones,
// and look at the answers.
func TestSchemathesis_FindsNothing(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	hello := harness.Absolute(t, "../examples/hello")
	const others = "^/(v1|v2|ping|invocations)" // the routes of other protocols
	for name, o := range map[string]harness.Options{
		"protocols": {Dir: hello},
		"hello":     {Dir: hello},
		"typed":     {Model: "typed.py"},
		"streaming": {Model: "api/shapes.py:Stream", Env: []string{"COG_TRAIN_TYPE_STUB=api/shapes.py:train"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			t.Cleanup(receiver.Close) // after the server, which delivers until its end
			o.Args = append(o.Args, "--queue", "64", "--no-shutdown")
			s := harness.Ready(t, o)
			which, examples := "--exclude-path-regex", harness.Soak(2000, 200)
			if name == "protocols" {
				which, examples = "--include-path-regex", harness.Soak(500, 50)
			}
			schemathesis(t, s, receiver.URL, s.Address+"/openapi.json", which, others, "--max-examples", fmt.Sprint(examples))
		})
	}
}

// TestSchemathesis_FindsNothingByPublicDocument has schemathesis make requests from the Open Inference Protocol's own
// document.
func TestSchemathesis_FindsNothingByPublicDocument(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	python := harness.Tool(t, "venvs/schemathesis/bin/python")
	document := harness.Tool(t, "oip/mlserver/rest/openapi/dataplane.json")
	s := tensors(t, "Numbers", "--queue", "64")
	script := harness.Absolute(t, "schemathesis/oip.py")
	text := harness.RunTool(t, t.TempDir(), nil, python, "-B", script, document, "numbers", "f", "above", "floats",
		"arrays")
	file := filepath.Join(t.TempDir(), "oip.json")
	harness.WriteFile(t, file, text)
	schemathesis(t, s, "", file, "--url", s.Address, "--max-examples", fmt.Sprint(harness.Soak(2000, 200)))
}

// schemathesis runs it against a server, which must serve without a fault until its end.
func schemathesis(t *testing.T, s *harness.Server, receiver, document string, arguments ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, harness.Tool(t, "venvs/schemathesis/bin/python"), append([]string{
		"-m", "schemathesis.cli", "run", document, "--checks", schemathesisChecks, "--phases", "coverage,fuzzing",
		"--generation-deterministic", "--suppress-health-check", "all", "--no-color",
	}, arguments...)...)
	hooks := harness.Absolute(t, "schemathesis")
	command.Dir = t.TempDir()
	command.Env = append(harness.BareEnv(), "SCHEMATHESIS_HOOKS=hooks", "PYTHONPATH="+hooks, "PYTHONDONTWRITEBYTECODE=1",
		"PYTHONUTF8=1", "RECEIVER="+receiver+"/")
	out := assert.Must(command.CombinedOutput())(t)
	assert.Contains(t, "schemathesis: string(out)", string(out), "Test cases:")
	t.Logf("%s", out[max(0, len(out)-600):])
	h := s.WaitHealth("READY")
	assert.True(t, h.Workers[0].Restarts <= 0, "the worker was replaced: %+v, want no restart", h.Workers)
}
