package protocols

import (
	"net/http"
	"strings"
	"testing"

	"pinion/tests/harness"
)

// TestOIPMemory_JSONTensorsShareMemory: elements of JSON tensors take many times their text, and count before they are
// read.
func TestOIPMemory_JSONTensorsShareMemory(t *testing.T) {
	t.Parallel()
	s, before := harness.StartConfined(t, "run.py:returned", 256, "--model", "m")
	const elements = 15_000_000
	body := `{"inputs":[{"name":"size","datatype":"INT64","shape":[15000000],"data":[` + strings.Repeat("1,", elements-1) +
		`1]}]}`
	answer := s.Do(http.MethodPost, "/v2/models/m/infer", []byte(body))
	if answer.Code != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("15 million elements: %d %v %.300s, want Code 503 and Retry-After non-empty", answer.Code, answer.Header,
			answer.Body)
	}
	harness.WantText(t, "the refusal", string(answer.Body), "memory budget")
	rows := `{"parameters":{"text":"` + strings.Repeat("t", 1<<20) +
		`"},"inputs":[{"name":"size","datatype":"INT64","shape":[16000],"data":[` + strings.Repeat("1,", 15_999) + `1]}]}`
	answer = s.Do(http.MethodPost, "/v2/models/m/infer", []byte(rows))
	if answer.Code != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("a parameter for 16000 rows: %d %v %.300s, want Code 503 and Retry-After non-empty", answer.Code,
			answer.Header, answer.Body)
	}
	answer = s.Do(http.MethodPost, "/v2/models/m/infer",
		[]byte(`{"inputs":[{"name":"size","datatype":"INT64","shape":[1],"data":[3]}]}`))
	harness.WantText(t, "a small one", string(answer.Body), `"data":["xxx"]`)
	harness.WaitResident(t, s, before)
}
