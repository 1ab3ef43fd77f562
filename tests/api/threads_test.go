package api

import (
	"fmt"
	"testing"

	"pinion/tests/harness"
)

// TestThreads_CallOtherModels: a call belongs to the prediction on whose thread, or whose thread's thread, it was made.
func TestThreads_CallOtherModels(t *testing.T) {
	t.Parallel()
	s, _ := callingModels(t, map[string]string{"a": callingModel, "b": `
import cog

class Runner(cog.BaseRunner):
    def run(self, text: str = "") -> str:
        return "called " + text
`}, map[string]string{"a": ", concurrency: 4, queue: 64", "b": ", concurrency: 2, queue: 64"}, harness.Options{})
	want := map[string]string{}
	answers := map[string]<-chan harness.Answer{}
	for i := range 12 {
		text, how := fmt.Sprint("n", i), ""
		want[text] = "a got called " + text
		if i%3 == 0 {
			how, want[text] = "thread", "called "+text
		}
		answers[text] = s.Begin(text, harness.Input{"text": text, "how": how})
	}
	for text, answer := range answers {
		harness.WantOutput(t, text, harness.Receive(t, answer), want[text])
	}
}
