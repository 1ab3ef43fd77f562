package protocols

import (
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestOip_TritonsClient has Triton's HTTP client ask models: JSON and binary tensors, rows, metadata and errors.
func TestOip_TritonsClient(t *testing.T) {
	t.Parallel()
	tool := harness.Tool(t, "venvs/protocols/bin/python")
	client := harness.Absolute(t, "clients/triton_http.py")
	for _, class := range []string{
		"Scaler", "Writer", "Describer", "Echo", "Raw", "Lister", "Batched", "Numbers", "Same",
		"SameBatched", "Members", "Steps", "AsyncSteps",
	} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			s := tensors(t, class)
			harness.RunTool(t, t.TempDir(), nil, tool, "-B", client, s.Address, class)
		})
	}
}

// TestOip_Generate asks by Triton's generate routes.
func TestOip_Generate(t *testing.T) {
	t.Parallel()
	s := tensors(t, "Writer")
	const path = "/v2/models/writer/"
	got := string(s.Do(http.MethodPost, path+"generate", []byte(`{"text_input":"q","n":3,"id":"1"}`)).Body)
	assert.Equal(t, "generate", got, `{"model_name":"writer","model_version":"1","id":"1","text_output":"q0q1q2"}`)
	got = string(s.Do(http.MethodPost, path+"generate_stream", []byte(`{"text_input":"q","parameters":{"n":2}}`)).Body)
	if n := strings.Count(got, "data: {"); n != 2 || !strings.Contains(got, `"text_output":"q1"`) {
		t.Errorf("generate_stream has %d events: %s, want 2 and a text with %q", n, got, `"text_output":"q1"`)
	}
	for body, want := range map[string]string{
		`{"text_input":"q","text":"r"}`:                 `input \"text\" is given twice`,
		`{"text_input":"q","n":1,"parameters":{"n":2}}`: `input \"n\" is given twice`,
		`{"text_input":"q","m":1}`:                      `unknown input \"m\": the model has text, n`,
	} {
		harness.WantAnswer(t, body, s.Do(http.MethodPost, path+"generate", []byte(body)), http.StatusBadRequest, want)
	}
}

func tensors(t *testing.T, class string, args ...string) *harness.Server {
	t.Helper()
	python := harness.Pythons(t)[0]
	harness.NeedModule(t, python, "numpy")
	return harness.Ready(t, harness.Options{
		Python: python.Path, Model: "tensors.py:" + class, Args: append(args, "--model", strings.ToLower(class)),
	})
}

// TestOip_YieldedArraysAreAsTheyWere: an item of an iterator is the array as it was when the model yielded it, also
// where the model writes to it later.
func TestOip_YieldedArraysAreAsTheyWere(t *testing.T) {
	t.Parallel()
	for class, want := range map[string]string{
		"Reused":      `{"name":"output","datatype":"FP32","shape":[3,2],"data":[1.0,1.0,2.0,2.0,3.0,3.0]}`,
		"AsyncReused": `[{\"x\":[1.0,1.0],\"seen\":[0]},{\"x\":[2.0,2.0],\"seen\":[0,1]},{\"x\":[3.0,3.0],\"seen\":[0,1,2]}]`,
	} {
		s := tensors(t, class)
		assert.Contains(t, class, string(
			s.Do(http.MethodPost, "/v2/models/"+strings.ToLower(class)+"/infer", `{"inputs":[]}`).Body),
			want)
	}
}

// TestOip_BinaryWithoutItsHeader: a client that forgets the header of a binary body is told its name.
func TestOip_BinaryWithoutItsHeader(t *testing.T) {
	t.Parallel()
	s := tensors(t, "Raw")
	body, head := binaryTensor(4, 1, "")
	a := s.Do(http.MethodPost, "/v2/models/raw/infer", body, "Content-Type", "application/octet-stream")
	harness.WantAnswer(t, "without it", a, http.StatusBadRequest,
		"tensors in binary need the header Inference-Header-Content-Length")
	harness.WantCode(t, "with it",
		s.Do(http.MethodPost, "/v2/models/raw/infer", body, "Inference-Header-Content-Length", head), http.StatusOK)
}

// TestOip_TensorsAreCompressed: an answer with a binary tensor has the coding that its client asks for.
func TestOip_TensorsAreCompressed(t *testing.T) {
	t.Parallel()
	s := tensors(t, "Raw")
	body := []byte(`{"inputs":[{"name":"x","datatype":"FP32","shape":[1000],"data":[` + strings.Repeat("1,", 999) +
		`1]}],` +
		`"parameters":{"binary_data_output":true}}`)
	for _, coding := range []string{"", "gzip", "deflate"} {
		answer := s.Do(http.MethodPost, "/v2/models/raw/infer", body, "Accept-Encoding", coding)
		if got := answer.Header.Get("Content-Encoding"); answer.Code != http.StatusOK || got != coding {
			t.Errorf("asked for %q: %d, encoded as %q, want 200 and %q", coding, answer.Code, got, coding)
		}
		n := len(answer.Body)
		assert.True(t, (n < 4000) == (coding != ""), "asked for %q: %d bytes, want %t", coding, n, coding != "")
	}
}
