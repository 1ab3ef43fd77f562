package workers

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestLogs_AreWhatWasWrittenInItsOrder(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "printing.py"})
		assert.Equal(t, "the setup's logs", s.Health().Setup.Logs, "setup out\nsetup raw\nsetup C\nsetup err\nsetup end\n")
		var mixed strings.Builder
		for i := range 200 {
			fmt.Fprintf(&mixed, "out %d\nerr %d\n", i, i)
		}
		for _, c := range []struct {
			what string
			n    int
			want string
		}{
			{"mixed", 200, mixed.String()},
			{"sources", 1, "1 print\n2 write\n3 printf\n4 subprocess\n5 thread\n6 python\n7 system\n8 no newline"},
			{"silent", 1, ""},
			{"late_c", 1, "from C, unflushed\n"},
			{"silent", 1, ""},
			{"raw", 1, "café \ufffd\ufffd \x00 \x1b[31m\n\\ud800 lone\n"},
			{"child", 1, "child out\nchild again\nbetween\nchild err\nafter\n"},
			{"replaced", 1, "seen 'captured\\n'\n"},
		} {
			assert.Equal(t, c.what+": logs", s.Succeed(harness.Input{"what": c.what, "n": c.n}).Logs, c.want)
		}
		assert.Contains(t, "logging and warnings", s.Succeed(harness.Input{"what": "logs"}).Logs, "INFO logged\n",
			"UserWarning: careful")
	})
}

// TestLogs_RawWritesInTurns: each stream is whole and in its order. Between the two no order is promised.
func TestLogs_RawWritesInTurns(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "printing.py"})
	const n = 2000
	lines := strings.SplitAfter(s.Succeed(harness.Input{"what": "turns", "n": n}).Logs, "\n")
	assert.TrueNow(t, len(lines) == 2*n+1, "%d lines, want %d", len(lines)-1, 2*n)
	next := map[string]int{"out": 0, "err": 0}
	for _, line := range lines[:2*n] {
		stream := line[:3]
		assert.EqualNow(t, "a line", line, fmt.Sprintf("%s %d\n", stream, next[stream]))
		next[stream]++
	}
}

func TestLogs_OfMegabytesStayWhole(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "printing.py"})
	const n = 5000 // 5 MB; a pipe holds 64 KiB
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, "%d %s\n", i, strings.Repeat("x", 1000))
	}
	assert.Equal(t, "the logs", s.Succeed(harness.Input{"what": "big", "n": n}).Logs, want.String())
	assert.Equal(t, "logs of the next prediction", s.Succeed(harness.Input{"what": "silent"}).Logs, "")
}

// TestLogs_ServersLogNamesPrediction: also for predictions that end before anybody has looked.
func TestLogs_ServersLogNamesPrediction(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "printing.py"})
	for i := range 50 {
		id := fmt.Sprintf("prediction-%d", i)
		s.Create(harness.Input{"id": id, "input": harness.Input{"what": "mixed", "n": i}})
	}
	s.Stop() // by then everything is written
	for i := range 50 {
		for _, stream := range []string{"out", "err"} {
			if i == 0 {
				continue
			}
			text, id := fmt.Sprintf("%s %d", stream, i-1), fmt.Sprintf("prediction-%d", i)
			_, ok := s.Log.First(func(l harness.Line) bool {
				return l.Text == text && l.PredictionID == id && l.Stream == "std"+stream
			})
			assert.TrueNow(t, ok, "the server's log has no line %q of %s", text, id)
		}
	}
}

func TestLogs_ConcurrentClientsNeverSeeEachOthersLogs(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "printing.py", Args: []string{"--queue", "64"}})
	harness.RunClients(t, 8, func(int) error {
		for i := range 60 {
			n := i % 5
			var want strings.Builder
			for j := range n {
				fmt.Fprintf(&want, "out %d\nerr %d\n", j, j)
			}
			if a := s.Input(harness.Input{"what": "mixed", "n": n}); a.Logs != want.String() {
				return fmt.Errorf("n=%d: %s", n, a)
			}
		}
		return nil
	})
}

// TestLogs_TextBetweenPredictionsBelongsToNone: what the threads and children of one prediction write once it has ended
// is not sent to the client of the next.
func TestLogs_TextBetweenPredictionsBelongsToNone(t *testing.T) {
	t.Parallel()
	for _, class := range []string{"Runner", "Async"} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			harness.EachPython(t, func(t *testing.T, python harness.Python) {
				file := filepath.Join(t.TempDir(), "go")
				s := harness.Ready(t, harness.Options{
					Python: python.Path, Model: "lingering.py:" + class, Env: []string{"GO=" + file},
				})
				s.Succeed(harness.Input{"start": true})
				harness.WriteFile(t, file, "")
				written := func() bool {
					line, found := s.Log.First(func(l harness.Line) bool { return strings.Contains(l.Text, "of a child") })
					return found && line.PredictionID == ""
				}
				assert.Eventually(t, "the text in the server's log without a prediction", written)
				assert.Equal(t, "the next prediction's logs", s.Succeed(harness.Input{}).Logs, "")
			})
		})
	}
}
