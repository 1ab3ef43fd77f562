package queue

import (
	"fmt"
	"os"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const ranksModel = `
import os, signal, time
import cog

class Runner(cog.BaseRunner):
    def run(self, token: str, kill: int = -1) -> str:
        with open("ran.txt", "a") as f:
            f.write(token + "\n")
        while os.path.exists("gate"):
            time.sleep(0.005)
        if kill == int(os.environ["RANK"]):
            os.kill(os.getpid(), signal.SIGKILL)
        return token
`

// TestQueue_RanksServeIt: each rank runs each job once, one whose rank dies fails with that, and those that waited run.
func TestQueue_RanksServeIt(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) string{
		"embedded": func(t *testing.T) string { t.Helper(); return "embed:" + t.TempDir() },
		"another":  func(t *testing.T) string { t.Helper(); return harness.StartNATS(t).URL },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := harness.NewFolder(t, "run.py", ranksModel, "cog.yaml", "run: run.py:Runner\nranks: 3\n", "gate", "")
			s := harness.StartMember(t, start(t), harness.Options{Dir: dir, Model: "run.py:Runner"})
			harness.Enqueue(t, s, "kills", harness.Input{"token": "kills", "kill": 2})
			harness.WaitStatus(t, s, "kills", "processing")
			for n := range 6 {
				id := fmt.Sprint("w", n)
				harness.Enqueue(t, s, id, harness.Input{"token": id})
			}
			assert.NoError(t, os.Remove(dir+"/gate"))
			a := harness.WaitStatus(t, s, "kills", "failed")
			assert.Contains(t, "its error", a.Error, "rank 2 died: worker killed (SIGKILL)")
			for n := range 6 {
				id := fmt.Sprint("w", n)
				harness.WaitStatus(t, s, id, "succeeded")
				assert.Equal(t, id+" ran", harness.TimesRun(t, s, id), 3)
			}
		})
	}
}
