package tests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

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
		return member(t, nats.URL, harness.Options{
			Model: "bounded.py", Dir: folder(t, "bounded.py", fmt.Sprintf(boundedModel, most)),
		})
	}
	wide := server(10)
	open := makeFIFO(t, wide.Dir, "gate")
	enqueue(t, wide, "gate", input{"gate": "gate"}) // from here on the other one takes jobs
	becomes(t, wide, "gate", "processing")
	narrow := server(5)
	refused := narrow.Create(map[string]any{"id": "refused", "input": input{"n": 7}}, "Prefer", "respond-async")
	wantCode(t, "at the server that does not take it", refused, http.StatusUnprocessableEntity)
	enqueue(t, wide, "seven", input{"n": 7, "token": "seven"})
	failed := becomes(t, narrow, "seven", "failed")
	if !strings.Contains(failed.Error, "n: 7 is greater than the maximum of 5") {
		t.Errorf("got the error %q, want what the server says that took it: %s", failed.Error, refused)
	}
	enqueue(t, wide, "three", input{"n": 3, "token": "three"}) // nothing is in its way
	becomes(t, wide, "three", "succeeded")
	open()
	becomes(t, wide, "gate", "succeeded")
	same(t, "its state at the server that accepted it", string(stateOf(wide, "seven").Body), string(failed.Body))
	if n := times(t, wide, "seven") + times(t, narrow, "seven"); n != 0 {
		t.Errorf("the refused job ran %d times, want 0", n)
	}
	wantCode(t, "the id is not free", wide.Create(map[string]any{"id": "seven", "input": input{}}, "Prefer",
		"respond-async"), http.StatusConflict)
}
