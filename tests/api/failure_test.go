package api

import (
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestFailure_ExceptionFailsItsPredictionAlone: with its last line as the error and its traceback in the logs.
func TestFailure_ExceptionFailsItsPredictionAlone(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "raising.py"})
		worker, calls := s.Worker(), 0
		for _, c := range []struct{ name, err string }{
			{"value", "ValueError: the message"},
			{"bare", "KeyError"},
			{"own", "raising.ModelError: mine\nin two lines"},
			{"chained", "raising.ModelError: outer"},
			{"exit", "SystemExit: 3"},
			{"exit text", "SystemExit: fatal text"},
			{"SystemExit", "SystemExit"},
			{"interrupt", "KeyboardInterrupt"},
			{"interrupt signal", "KeyboardInterrupt"},
			{"memory", "MemoryError"},
			{"recursion", "RecursionError: maximum recursion depth exceeded"},
			{"generator exit", "GeneratorExit"},
			{"unprintable", "raising.Unprintable"},
			{"surrogate", `ValueError: \ud800`},
			{"name error", "NameError: name 'undefined_name' is not defined"},
			{"stop", "StopIteration"},
			{"group", "ExceptionGroup: several (2 sub-exceptions)"},
		} {
			if c.name == "group" && python.Minor < 11 {
				continue
			}
			calls++
			a := s.Fail(harness.Input{"name": c.name})
			assert.True(t, strings.HasPrefix(a.Error, c.err) && (!strings.HasPrefix(c.err, "ValueError") || a.Error == c.err),
				"%s: error is %q, want %q", c.name, a.Error, c.err)
			assert.Contains(t, c.name, a.Logs, "Traceback (most recent call last):", "raising.py", "in run", "in inner")
			assert.False(t, strings.Contains(a.Logs, "_worker"),
				"%s: our own frames are in the traceback, want no \"_worker\" in it:\n%s", c.name, a.Logs)
			_, ok := a.Metrics["predict_time"]
			assert.True(t, ok, "%s: no predict_time in %s", c.name, a)
		}
		assert.Contains(t, "chained", s.Fail(harness.Input{"name": "chained"}).Logs, "KeyError: 'key'", "direct cause",
			"ModelError: outer")
		thread := s.Succeed(harness.Input{"name": "thread"})
		assert.Contains(t, "thread", thread.Logs, "Exception in thread", "ModelError: in a thread")
		unraisable := s.Succeed(harness.Input{"name": "unraisable"})
		assert.Contains(t, "unraisable", unraisable.Logs, "Exception ignored", "ModelError: in __del__")
		var count int
		s.Succeed(harness.Input{}).Decode(t, &count)
		assert.Equal(t, "count", count, calls+4)
		assert.Equal(t, "worker", s.Worker(), worker)
	})
}

func TestFailure_ModelThatClosesItsStreamsIsServedOn(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "raising.py"})
	assert.Equal(t, "error", s.Fail(harness.Input{"name": "closed streams"}).Error, "ValueError: after closing")
	for range 3 {
		s.Succeed(harness.Input{})
	}
	assert.Equal(t, "error", s.Fail(harness.Input{"name": "value"}).Error, "ValueError: the message")
}
