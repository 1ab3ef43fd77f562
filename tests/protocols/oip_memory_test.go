package protocols

import (
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
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
	harness.WantAnswer(t, "15 million elements", answer, http.StatusRequestEntityTooLarge, "memory budget")
	rows := `{"parameters":{"text":"` + strings.Repeat("t", 1<<20) +
		`"},"inputs":[{"name":"size","datatype":"INT64","shape":[16000],"data":[` + strings.Repeat("1,", 15_999) + `1]}]}`
	answer = s.Do(http.MethodPost, "/v2/models/m/infer", []byte(rows))
	harness.WantAnswer(t, "a parameter for 16000 rows", answer, http.StatusRequestEntityTooLarge, "memory budget")
	answer = s.Do(http.MethodPost, "/v2/models/m/infer",
		[]byte(`{"inputs":[{"name":"size","datatype":"INT64","shape":[1],"data":[3]}]}`))
	assert.Contains(t, "a small one", string(answer.Body), `"data":["xxx"]`)
	harness.WaitResident(t, s, before)
}
