package queue

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// boundedModel takes numbers up to a bound, and writes each of its runs down.
const boundedModel = `import cog


def run(n: int = cog.Input(default=0, le=%d), gate: str = "", token: str = "") -> str:
    with open("ran.txt", "a") as file:
        file.write(token + "\n")
    if gate:
        with open(gate) as file:  # a named pipe: opens when the test does
            file.read()
    return "ran"
`

// TestQueue_TwoSchemas: two servers of a queue have different models under its name, as in a rolling update. A job that
// the one accepts and the other takes ends with what the other says of its input, and does not run.
func TestQueue_TwoSchemas(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	server := func(most int) *harness.Server {
		return harness.StartMember(t, nats.URL, harness.Options{
			Model: "bounded.py", Dir: harness.NewFolder(t, "bounded.py", fmt.Sprintf(boundedModel, most)),
		})
	}
	wide := server(10)
	open := harness.MakeFIFO(t, wide.Dir, "gate")
	harness.Enqueue(t, wide, "gate", harness.Input{"gate": "gate"}) // from here on the other one takes jobs
	harness.WaitStatus(t, wide, "gate", "processing")
	narrow := server(5)
	refused := narrow.Create(map[string]any{"id": "refused", "input": harness.Input{"n": 7}}, "Prefer", "respond-async")
	harness.WantCode(t, "at the server that does not take it", refused, http.StatusUnprocessableEntity)
	harness.Enqueue(t, wide, "seven", harness.Input{"n": 7, "token": "seven"})
	failed := harness.WaitStatus(t, narrow, "seven", "failed")
	assert.True(t, strings.Contains(failed.Error, "n: 7 is greater than the maximum of 5"),
		"got the error %q, want what the server says that took it: %s", failed.Error, refused)
	harness.Enqueue(t, wide, "three", harness.Input{"n": 3, "token": "three"}) // nothing is in its way
	harness.WaitStatus(t, wide, "three", "succeeded")
	open()
	harness.WaitStatus(t, wide, "gate", "succeeded")
	assert.Equal(t, "its state at the server that accepted it", string(harness.StateOf(wide, "seven").Body),
		string(failed.Body))
	assert.Equal(t, "runs of the refused job", harness.TimesRun(t, wide, "seven")+harness.TimesRun(t, narrow, "seven"), 0)
	harness.WantCode(t, "the id is not free",
		wide.Create(map[string]any{"id": "seven", "input": harness.Input{}}, "Prefer", "respond-async"), http.StatusConflict)
}
