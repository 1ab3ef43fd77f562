package workers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// logsLevels logs by all that a model may: while it is imported, set up, asked and idle.
const logsLevels = `
import asyncio, logging, sys, threading, warnings
logging.basicConfig(level=logging.DEBUG, format="%(message)s")
log = logging.getLogger("my.model")
log.warning("imported")
idle = threading.Event()
def work(how):
    print("begin", end=" ", file=sys.stderr, flush=True)
    log.debug("debugging " + how)
    log.warning("two\nlines " + how)
    try:
        {}[how]
    except KeyError:
        log.exception("caught " + how)
    logging.getLogger("l" * 300).info("long \ud800 " + how)
    warnings.warn("beware " + how)
    if how == "child":
        import os
        os.system("echo of a child >&2")
        log.error("after a child")
    print("end", file=sys.stderr)
    if how == "fail":
        raise ValueError("one\n\ntwo")
    return how
class Single:
    def setup(self):
        log.critical("set up")
        threading.Thread(target=self.wait, daemon=True).start()
    def wait(self):
        idle.wait()
        log.error("while idle")
    def run(self, how: str) -> str:
        return idle.set() or how if how == "idle" else work(how)
class Several(Single):
    async def run(self, how: str) -> str:
        await asyncio.sleep(0)
        return idle.set() or how if how == "idle" else work(how)
class Threads(Single):
    pass
`

// TestLogsLevels_RecordsKeepLevelAndLogger in the server's log; the prediction's own logs are the model's text.
func TestLogsLevels_RecordsKeepLevelAndLogger(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", logsLevels)
	for _, c := range []struct{ name, flags string }{{"Single", ""}, {"Several", "--concurrency=3"}, {"Threads", "--concurrency=3"}} {
		o := harness.Options{Dir: dir, Model: "run.py:" + c.name, Args: []string{"--log-level=debug"}}
		if c.flags != "" {
			o.Args = append(o.Args, c.flags)
		}
		s := harness.Ready(t, o)
		got := s.Succeed(harness.Input{"how": "it"}).Logs
		for _, part := range []string{"begin debugging it\ntwo\nlines it\ncaught it\nTraceback (most recent", "UserWarning: beware it\n", "\nend\n"} {
			assert.Contains(t, c.name+"'s logs", got, part)
		}
		s.Fail(harness.Input{"how": "fail"})
		s.Succeed(harness.Input{"how": "child"})
		s.Succeed(harness.Input{"how": "idle"})
		has := func(level, logger, text string) {
			t.Helper()
			assert.Eventually(t, fmt.Sprintf("%s: %s %s %q is a record", c.name, level, logger, text), func() bool {
				return slices.ContainsFunc(s.Log.Lines(), func(l harness.Line) bool {
					return l.Level == level && strings.HasPrefix(l.Text, text) && strings.Contains(l.Raw, `"logger":"`+logger+`"`) == (logger != "")
				})
			})
		}
		has("WARN", "my.model", "imported")
		has("ERROR", "my.model", "set up")
		has("INFO", "", "begin")
		has("DEBUG", "my.model", "debugging it")
		has("WARN", "my.model", "two\nlines it")
		has("ERROR", "my.model", "caught it\nTraceback (most recent call last):\n")
		has("INFO", strings.Repeat("l", 80), `long \ud800 it`)
		has("INFO", "", "end")
		has("ERROR", "", "Traceback (most recent call last):\n")
		has("INFO", "", "of a child")
		has("ERROR", "my.model", "after a child")
		has("ERROR", "my.model", "while idle")
		warned, _ := s.Log.First(func(l harness.Line) bool { return strings.Contains(l.Text, "UserWarning: beware it") })
		assert.True(t, warned.Level == "WARN" && strings.Contains(warned.Raw, `"logger":"py.warnings"`) && warned.PredictionID != "",
			"%s: got %s, want a warning of its prediction", c.name, warned.Raw)
		failed, _ := s.Log.First(func(l harness.Line) bool { return strings.HasSuffix(l.Text, "ValueError: one\n\ntwo") })
		assert.True(t, failed.Level == "ERROR" && failed.PredictionID != "", "%s: got %s, want the failure as one error", c.name, failed.Raw)
	}
}
