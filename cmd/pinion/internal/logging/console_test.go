package logging

import (
	"bytes"
	"log/slog"
	"regexp"
	"testing"

	"pinion/tests/assert"
)

// TestConsole_ShowsTracebackAsBlock that can be copied: nothing stands between its lines or behind them.
func TestConsole_ShowsTracebackAsBlock(t *testing.T) {
	var out bytes.Buffer
	log := newLogger(&out, slog.LevelInfo, true, false)
	log.Info("Traceback (most recent call last):\n  File \"run.py\", line 4, in run\nKeyError: 'nope'", "worker", 0,
		"stream", "stderr")
	log.With("more", 1).Info("one line", "worker", 0)
	want := "^[0-9:.]+ INF Traceback \\(most recent call last\\): worker=0 stream=stderr\n" +
		"  File \"run.py\", line 4, in run\nKeyError: 'nope'\n[0-9:.]+ INF one line more=1 worker=0\n$"
	assert.True(t, regexp.MustCompile(want).Match(out.Bytes()),
		"it shows: got %.300q, want a match of %s\n%s", out.Bytes(), want, &out)
}

func TestConsole_WritesNumbersWithoutExponent(t *testing.T) {
	var out bytes.Buffer
	newLogger(&out, slog.LevelInfo, true, false).Info("worker ready", "worker", 0, "setup_seconds", 0.0000421)
	want := "^[0-9:.]+ INF worker ready worker=0 setup_seconds=0.0000421\n$"
	assert.True(t, regexp.MustCompile(want).Match(out.Bytes()), "got %q, want a match of %q", out.Bytes(), want)
}
