package workers

import (
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestHeldStreams_StayValid: what runs before the worker, as a sitecustomize does, holds the standard streams and
// writes to them later.
func TestHeldStreams_StayValid(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "site/sitecustomize.py", `import logging, os, sys
logging.basicConfig(format="%(levelname)s %(message)s")
held = sys.stdout, sys.stderr, sys.stdout.buffer, sys.stderr.buffer


class Tee:
    """What is not a stream of Python's, in the place of one."""

    def write(self, text):
        return held[0].write("tee " + text if text.strip() else text)

    def flush(self):
        held[0].flush()


if os.environ.get("TEE"):
    sys.stdout = Tee()
`, "run.py", `import logging, sys
from sitecustomize import held
from cog import BaseRunner


def work():
    print("printed")
    logging.warning("logged")
    held[0].write("to stdout\n")
    held[2].write(b"bytes\n")
    held[1].write("to stderr\n")
    return held[0] is sys.__stdout__ and held[1] is sys.stderr


class Sync(BaseRunner):
    def run(self) -> bool:
        return work()


class Async(BaseRunner):
    async def run(self) -> bool:
        return work()
`)
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		for _, c := range [][]string{{"Sync"}, {"Async"}, {"Async", "--concurrency", "2"}, {"Sync", "--preload"}} {
			for _, tee := range []string{"", "1"} {
				s := harness.Ready(t, harness.Options{
					Python: python.Path, Dir: dir, Model: "run.py:" + c[0], Args: c[1:],
					Env: []string{"PYTHONPATH=" + dir + "/site", "TEE=" + tee},
				})
				a := s.Succeed(harness.Input{})
				want := "printed\nWARNING logged\nto stdout\nbytes\nto stderr\n"
				if tee != "" {
					want = "tee " + want
				}
				assert.Equal(t, strings.Join(c, " ")+": the logs", a.Logs, want)
				assert.Equal(t, strings.Join(c, " ")+": they are Python's", string(a.Output), "true")
			}
		}
	})
}
