package web

import (
	"os/exec"
	"testing"

	"pinion/tests/assert"
)

// TestScripts_StepsOfTexts: what the pages' scripts do with a text that a model, a client or a README gives takes a number
// of steps for each character that does not grow with the text.
func TestScripts_StepsOfTexts(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no Node.js")
	}
	out := assert.Must(exec.Command(node, "testdata/steps.js", ".").Output())(t)
	assert.True(t, string(out) == "\n", "what takes too many steps:\n%s", out)
}
