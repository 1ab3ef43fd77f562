package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// watchedModel says a word, and writes files as models do. Each word must be of the same length: Python alone would
// take the bytecode of a file that was edited within a second for good.
const watchedModel = `
import helper
class Runner:
    def setup(self):
        print("setting up", helper.WORD, flush=True)
        if helper.WORD == "bad!": raise ValueError("no such word")
        if helper.WORD == "slow": open("gate").read()
    def run(self) -> str:
        for name in ("output.png", "result.json", "log.txt"): open(name, "w").write("x")
        return helper.WORD
`

func writeWord(t *testing.T, s *harness.Server, word string) {
	t.Helper()
	harness.WriteFile(t, filepath.Join(s.Dir, "helper.py"), "WORD = '"+word+"'\n")
}

func answersWord(t *testing.T, s *harness.Server, word string) {
	t.Helper()
	harness.EqualJSON(t, "output", s.Succeed(harness.Input{}).Output, `"`+word+`"`)
}

func TestWatch_ReloadsWhatChanges(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", watchedModel, "helper.py", "WORD = 'one!'\n"), Args: []string{"--watch"},
	})
	answersWord(t, s, "one!")
	restarts := 0
	for _, word := range []string{"two!", "six!", "ten!"} {
		writeWord(t, s, word)
		restarts++
		assert.Eventually(t, "a new worker serves", func() bool { return s.Health().Workers[0].Restarts == restarts })
		answersWord(t, s, word)
	}
	count := 0
	for _, l := range s.Log.Lines() {
		if l.Text == "reloading" {
			count++
			assert.Contains(t, "the line", l.Raw, `"asked_by":"helper.py changed"`)
		}
	}
	assert.Equal(t, "reloads", count, restarts)
}

// TestWatch_KeepsOldWorkerWhereNewOneFails, logs why once, and goes on with the next change at once.
func TestWatch_KeepsOldWorkerWhereNewOneFails(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", watchedModel, "helper.py", "WORD = 'one!'\n"), Args: []string{"--watch"},
	})
	writeWord(t, s, "bad!")
	line := s.WaitLog("the worker's successor failed: the old one stays")
	assert.Equal(t, "the cause", line.Cause, "ValueError: no such word")
	answersWord(t, s, "one!")
	writeWord(t, s, "two!")
	assert.Eventually(t, "a new worker serves", func() bool { return s.Health().Workers[0].Restarts == 1 })
	answersWord(t, s, "two!")
	assert.Equal(t, "the setup failed", s.Log.Count("setup failed"), 1)
	harness.WriteFile(t, filepath.Join(s.Dir, "cog.yaml"), "run: [")
	s.WaitLog("the model is not reloaded")
	answersWord(t, s, "two!")
}

// TestWatch_GivesUpSetupForNewerChange: a setup whose source has changed, or that hangs, is not waited for.
func TestWatch_GivesUpSetupForNewerChange(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--watch"}, {"--watch", "--workers", "2"}} {
		s := harness.Ready(t, harness.Options{
			Dir: harness.NewFolder(t, "run.py", watchedModel, "helper.py", "WORD = 'one!'\n"), Args: args,
		})
		harness.MakeFIFO(t, s.Dir, "gate")
		workers := len(s.Health().Workers)
		assert.Eventually(t, "all workers are ready", func() bool { return s.Log.Count("setting up one!") == workers })
		writeWord(t, s, "slow")
		s.WaitLog("setting up slow")
		answersWord(t, s, "one!")
		writeWord(t, s, "two!")
		assert.Eventually(t, "new workers serve", func() bool { return s.Log.Count("setting up two!") == workers })
		harness.WaitWorkers(t, s, workers, workers)
		for _, w := range s.Health().Workers {
			assert.Equal(t, "the restarts of a worker", w.Restarts, 1)
		}
		answersWord(t, s, "two!")
	}
}

func TestWatch_RepairsStartThatFailed(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", watchedModel, "helper.py", "WORD = 'bad!'\n")
	s := harness.Start(t, harness.Options{Dir: dir, Args: []string{"--watch"}})
	s.WaitHealth("SETUP_FAILED")
	writeWord(t, s, "one!")
	s.WaitHealth("READY")
	answersWord(t, s, "one!")

	cmd, term := serveOnTerminal(t, harness.NewFolder(t, "run.py", "raise ValueError('at the top')\n"), "--watch")
	assert.Eventually(t, "the setup has failed",
		func() bool { return strings.Contains(term.Shown(), "no worker will be started in its place") })
	term.End(t, cmd)
}
