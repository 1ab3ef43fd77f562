package tests

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"pinion/tests/harness"
)

// TestRequestIDsInTheLog: the access log's line, the model's own lines and those about its input name the request.
func TestRequestIDsInTheLog(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir:   folder(t, "run.py", "def run(n: int = 1) -> int:\n    print('the model prints')\n    return n\n"),
		Model: "run.py:run", Args: []string{"--access-log=1000"},
	})
	a := s.Do(http.MethodPost, "/predictions", map[string]any{"input": input{"m": 2}}, "X-Request-Id", "id-of-the-client")
	wantCode(t, "the prediction", a, http.StatusOK)
	same(t, "the warning", a.Header.Get("Pinion-Warning"), `unknown input "m"; did you mean "n"?`)
	for _, text := range []string{"the model prints", "unknown inputs are dropped", "request"} {
		harness.Eventually(t, "the log's line of "+text, func() bool {
			return slices.ContainsFunc(s.Log.Lines(), func(line harness.Line) bool {
				return line.Text == text && strings.Contains(line.Raw, `"request_id":"id-of-the-client"`)
			})
		})
	}
}
