package cli

import (
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestLogLevel_FiltersModelsRecords of the server's log, and not the prediction's own logs.
func TestLogLevel_FiltersModelsRecords(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", `
import logging, warnings
def run() -> str:
    logging.getLogger("m").info("too low")
    print("a line")
    warnings.warn("beware")
    logging.error("broken")
    return ""
`)
	cmd, term := serveOnTerminal(t, dir, "--log-format", "console", "--log-level", "error")
	s := harness.At(term.Address(t))
	assert.Contains(t, "the prediction's logs", s.Create("{}").Logs, "a line\n")
	s.CloseIdle()
	term.End(t, cmd)
	shown := term.Shown()
	assert.Contains(t, "the terminal", shown, " ERR ERROR:root:broken ")
	for _, other := range []string{"too low", "a line", "beware"} {
		assert.False(t, strings.Contains(shown, other), "the terminal has %q: %s", other, shown)
	}
}
