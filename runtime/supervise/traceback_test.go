package supervise

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"pinion/ipc"
	"pinion/tests/assert"
)

const (
	plainTraceback = `Traceback (most recent call last):
  File "/src/run.py", line 4, in run
    return table[name]
           ~~~~~^^^^^^
KeyError: 'nope'`
	chainedTraceback = plainTraceback + `

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/src/run.py", line 6, in run
    raise ValueError("no such name")
ValueError: no such name

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/src/run.py", line 8, in run
    raise OSError
OSError`
	groupTraceback = `  + Exception Group Traceback (most recent call last):
  |   File "/src/run.py", line 1, in <module>
  |     raise ExceptionGroup("two", [ValueError(1), TypeError(2)])
  | ExceptionGroup: two (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: 1
    +---------------- 2 ----------------
    | TypeError: 2
    +------------------------------------`
	syntaxTraceback = `Traceback (most recent call last):
  File "/src/run.py", line 3, in setup
    exec("1 +")
  File "<string>", line 1
    1 +
       ^
SyntaxError: invalid syntax`
)

// TestTraceback_IsOneRecord between any lines; every other line is a record, also an empty one.
func TestTraceback_IsOneRecord(t *testing.T) {
	chainedToGroup := plainTraceback + "\n\nDuring handling of the above exception, another exception occurred:\n\n" +
		groupTraceback
	for name, want := range map[string][]string{
		"plain":                {"before", plainTraceback, "after"},
		"chained":              {"before", chainedTraceback, "after"},
		"group":                {"before", groupTraceback, "after"},
		"chained to a group":   {chainedToGroup},
		"SyntaxError":          {syntaxTraceback, "after"},
		"two":                  {plainTraceback, plainTraceback},
		"a blank line follows": {plainTraceback, "", "after"},
		"two blank lines":      {plainTraceback, "", "", "after"},
		"half a link": {
			plainTraceback, "", "During handling of the above exception, another exception occurred:",
			"after",
		},
		"a link to nothing": {
			plainTraceback, "", "During handling of the above exception, another exception occurred:",
			"", "after",
		},
		"an unfinished line":    {"before", "10% " + chainedTraceback, "after"},
		"cut off":               {"Traceback (most recent call last):\n  File \"x\", line 1", "", "after"},
		"no traceback":          {"  indented", "", "Traceback (most recent call first)", "a: b"},
		"a head and its like":   {"Traceback (most recent call last):", plainTraceback},
		"indented after an end": {plainTraceback, "  of the model"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			r := recorder{note: func(_ slog.Level, _ source, _ string, text []byte, _ ...any) {
				got = append(got, string(text))
			}}
			for line := range strings.SplitSeq(strings.Join(want, "\n"), "\n") {
				r.line(stderr, "a", []byte(line))
			}
			r.end()
			assert.EqualSlices(t, "the records", got, want)
		})
	}
}

func TestTraceback_LineOfNoTracebackNeedsNoMemory(t *testing.T) {
	r := recorder{note: func(slog.Level, source, string, []byte, ...any) {}}
	line := []byte("a line as models print them")
	assert.Equal(t, "allocations", testing.AllocsPerRun(100, func() { r.line(stdout, "a", line) }), 0)
}

// TestTracebacks_OfSeveralAtOnce are not mixed.
func TestTracebacks_OfSeveralAtOnce(t *testing.T) {
	got := map[string]string{}
	r := recorder{note: func(_ slog.Level, _ source, prediction string, text []byte, _ ...any) {
		got[prediction] += string(text)
	}}
	for line := range strings.SplitSeq(chainedTraceback, "\n") {
		r.line(stderr, "a", []byte(line))
		r.line(stderr, "b", []byte(line))
	}
	r.end()
	assert.Equal(t, `got["a"]`, got["a"], chainedTraceback)
	assert.Equal(t, `got["b"]`, got["b"], chainedTraceback)
}

// TestTraceback_InPieces is one record, and comes though nothing follows it.
func TestTraceback_InPieces(t *testing.T) {
	var got []string
	r := recorder{note: func(_ slog.Level, _ source, _ string, text []byte, _ ...any) { got = append(got, string(text)) }}
	for line := range strings.SplitSeq(plainTraceback, "\n") {
		r.line(stderr, "", []byte(line))
		assert.TrueNow(t, r.settle(), "nothing is pending after %q", line)
	}
	assert.True(t, !r.settle() && slices.Equal(got, []string{plainTraceback}),
		"the records are %q, want settle false and %q", got, []string{plainTraceback})
}

// TestTracebacks_OfPipes: with the claim where there is one, else after a while.
func TestTracebacks_OfPipes(t *testing.T) {
	short := "Traceback (most recent call last):\n  File \"x\"\nE: x"
	p := newPiped(t)
	p.write(stderr, short+"\n")
	p.take("a")
	assert.EqualSlices(t, "the server's log", p.logged(), []string{"stderr a " + short + " ERROR []"})
	p.write(stderr, short+"\n")
	assert.Eventually(t, "it is logged", func() bool { return len(p.logged()) == 2 })
	assert.Equal(t, "the server's log", p.logged()[1], "stderr  "+short+" ERROR []")
	p.write(stderr, short)
	p.take("b")
	p.write(stderr, "\n")
	p.take("c")
	assert.EqualSlices(t, "the server's log", p.logged()[2:], []string{"stderr b " + short + " ERROR []", "stderr c "})
}

// TestTracebacks_ThatWorkerTellsApart are records, too.
func TestTracebacks_ThatWorkerTellsApart(t *testing.T) {
	short := "Traceback (most recent call last):\n  File \"x\"\nE: x"
	p := newPiped(t)
	p.Logged(stderr, "a", []byte(short+"\n"), nil)
	p.Logged(stderr, "b", []byte("of b\n"), &ipc.LogRecord{Level: 30, Logger: "x"})
	assert.Eventually(t, "both are logged", func() bool { return len(p.logged()) == 2 })
	assert.EqualSlices(t, "the server's log", p.logged(), []string{"stderr b of b WARN [logger x]", "stderr a " + short + " ERROR []"})
	p.logs.Close()
	p.Logged(stderr, "a", []byte(short+"\n"), nil)
	assert.Equal(t, fmt.Sprintf("after the end the server's log has %q", p.logged()), len(p.logged()), 3)
}
