package api

import (
	"net/http"
	"strings"
	"testing"

	"pinion/tests/harness"
)

// TestNumbers_TooManyDigits: an integer that no worker reads is the client's fault at every door, and the worker goes
// on.
func TestNumbers_TooManyDigits(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", "def run(n: int = 1) -> bool:\n    return n > 0\n"), Model: "run.py:run",
		Args: []string{"--model", "m"},
	})
	digits := strings.Repeat("9", 5_000_000)
	for path, body := range map[string]string{
		"/predictions":         `{"input":{"n":%}}`,
		"/invocations":         `{"n":%}`,
		"/v1/models/m:predict": `{"instances":[{"n":%}]}`,
		"/v2/models/m/infer":   `{"inputs":[{"name":"n","datatype":"INT64","shape":[1],"data":[%]}]}`,
	} {
		t.Run(path, func(t *testing.T) {
			send := func(number string) harness.Answer {
				return s.Do(http.MethodPost, path, strings.Replace(body, "%", number, 1), "Content-Type", "application/json")
			}
			harness.WantCode(t, "5000000 digits", send(digits), http.StatusBadRequest)
			if path != "/v2/models/m/infer" { // INT64 has 19
				harness.WantCode(t, "100000 digits", send(digits[:100_000]), http.StatusOK)
			}
			harness.WantCode(t, "one digit", send("1"), http.StatusOK)
		})
	}
}
