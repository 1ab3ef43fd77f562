package workers

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestLogsTraceback_TracebackIsOneRecordOfServersLog: of a prediction, of a setup, of what the model prints itself, and
// of several at once.
func TestLogsTraceback_TracebackIsOneRecordOfServersLog(t *testing.T) {
	t.Parallel()
	const source = `
import asyncio, sys, traceback
from cog import concurrent
def look(key):
    try:
        return {}[key]
    except KeyError:
        raise ValueError("no " + key)
def run(how: str) -> str:
    print("before", file=sys.stderr)
    if how == "printed":
        try:
            look(how)
        except ValueError:
            traceback.print_exc()
        print("after", file=sys.stderr)
        return ""
    if how == "lines":
        try:
            raise ValueError("one\n\ntwo")
        except ValueError:
            print("a line", file=sys.stderr)
            raise RuntimeError("three\nTraceback of another program\nfour")
    return look(how)
async def single(how: str) -> str:
    return run(how)
@concurrent(max=4)
async def several(how: str) -> str:
    await asyncio.sleep(0)
    return run(how)
class Broken:
    def setup(self): look("setup")
    def run(self) -> str: ...
`
	isWhole := func(l harness.Line) bool {
		return strings.HasPrefix(l.Text, "Traceback (most recent call last):\n") &&
			strings.HasSuffix(l.Text, "\nValueError: no it") &&
			strings.Contains(l.Text, "\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback")
	}
	dir := harness.NewFolder(t, "run.py", source)
	for _, name := range []string{"run", "single", "several"} {
		s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:" + name})
		harness.WantCode(t, "a failure", s.Input(harness.Input{"how": "it"}), 200)
		assert.Eventually(t, "the traceback is in the log", func() bool { _, ok := s.Log.First(isWhole); return ok })
		n := s.Log.Count("Traceback (most recent call last):") + s.Log.Count("KeyError: 'it'")
		assert.True(t, n <= 0, "%d lines of it are separate records", n)
		s.Succeed(harness.Input{"how": "printed"})
		s.Stop()
		printed, ok := s.Log.First(func(l harness.Line) bool { return strings.HasSuffix(l.Text, "\nValueError: no printed") })
		assert.True(t, ok && strings.HasPrefix(printed.Text, "Traceback") && printed.PredictionID != "" &&
			printed.Stream == "stderr", "got %+v of the one that was printed, want it of its prediction, on stderr", printed)
		assert.Equal(t, `s.Log.Count("before")`, s.Log.Count("before"), 2)
		assert.Equal(t, `s.Log.Count("after")`, s.Log.Count("after"), 1)
	}
	for _, name := range []string{"run", "single", "several"} {
		s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:" + name})
		a := s.Fail(harness.Input{"how": "lines"})
		assert.True(t, strings.HasSuffix(a.Logs, "RuntimeError: three\nTraceback of another program\nfour\n"),
			"got %s, want Logs ending in %q", a, "RuntimeError: three\nTraceback of another program\nfour\n")
		s.Stop()
		var texts []string
		for _, l := range s.Log.Lines() {
			if l.Stream == "stderr" {
				texts = append(texts, l.Text)
			}
		}
		got := strings.Join(texts, "|")
		assert.True(t, len(texts) == 3 && strings.HasPrefix(got, "before|a line|Traceback (most") &&
			strings.Contains(got, "\nValueError: one\n\ntwo\n\nDuring handling") &&
			strings.HasSuffix(got, "\nRuntimeError: three\nTraceback of another program\nfour"),
			"%s: got %d records, %s, want 3: what is before, the whole traceback, and what follows", name, len(texts), got)
	}
	s := harness.Start(t, harness.Options{Dir: dir, Model: "run.py:Broken"})
	s.WaitHealth("SETUP_FAILED")
	s.WaitLog("setup failed")
	var order []string
	for _, l := range s.Log.Lines() {
		if strings.HasPrefix(l.Text, "Traceback") && strings.HasSuffix(l.Text, "ValueError: no setup") ||
			l.Text == "setup failed" {
			order = append(order, strings.Fields(l.Text)[0])
		}
	}
	assert.Equal(t, "the order in the log", strings.Join(order, " "), "Traceback setup")
}

// TestLogsTraceback_TracebacksOfWorkersSlotsAreRecords: of predictions that fail at the same time, that print what they
// caught, or whose threads do; each is one record, with the id of its own prediction.
func TestLogsTraceback_TracebacksOfWorkersSlotsAreRecords(t *testing.T) {
	t.Parallel()
	const slots = 8
	const source = `
import asyncio, sys, traceback
from cog import concurrent
gate, waiting = None, 0
def look(key):
    try:
        return {}[key]
    except KeyError:
        raise ValueError("no " + key)
def print_it(key):
    try:
        look(key)
    except ValueError:
        traceback.print_exc()
@concurrent(max=8)
async def run(how: str, key: str) -> str:
    global gate, waiting
    gate, waiting = gate or asyncio.Event(), waiting + 1
    if waiting % 8 == 0:
        gate.set()
        gate = None
    else:
        await gate.wait()
    print("\r10%", end="", file=sys.stderr)
    await asyncio.sleep(0)
    if how == "raise":
        return look(key)
    await asyncio.to_thread(print_it, key) if how == "thread" else print_it(key)
    return ""
`
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{
			Dir: harness.NewFolder(t, "run.py", source), Model: "run.py:run", Python: python.Path,
		})
		ids := map[string]string{} // of the prediction that has a key
		for _, how := range []string{"raise", "print", "thread"} {
			var wait sync.WaitGroup
			for i := range slots {
				key := fmt.Sprintf("%s-%d", how, i)
				ids[key] = "id-" + key
				wait.Go(func() {
					harness.WantCode(t, key, s.Do("PUT", "/predictions/id-"+key,
						harness.Input{"input": harness.Input{"how": how, "key": key}}), 200)
				})
			}
			wait.Wait()
		}
		s.Stop()
		whole := regexp.MustCompile(`(?s)\A(?:10%)?Traceback \(most .*\nKeyError: '(.+?)'\n\nDuring handling .*\n\nTraceback \(most .*\nValueError: no (.+?)\z`)
		for _, l := range s.Log.Lines() {
			if !strings.Contains(l.Text, "Error") {
				continue
			}
			found := whole.FindStringSubmatch(strings.TrimPrefix(l.Text, "\r"))
			if found == nil || found[1] != found[2] || l.PredictionID != ids[found[2]] {
				t.Errorf("got a record of %q: %q, want one whole traceback of one prediction", l.PredictionID, l.Text)
				continue
			}
			delete(ids, found[2])
		}
		assert.True(t, len(ids) == 0, "no record has the tracebacks of %v", ids)
	})
}
