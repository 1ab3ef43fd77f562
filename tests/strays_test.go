package tests

import (
	"strings"
	"testing"

	"pinion/tests/harness"
)

// strays are the ways of tests/models/strays.py to outlive a prediction.
var strays = []string{
	"thread", "thread_of_a_thread", "pool", "setups_pool", "thread_pool", "thread_pools_map",
}

// TestWhatOutlivesItsPredictionWritesIntoNoOther: a thread or a child that writes while the next prediction runs does so to the server's log,
// as nobody's. The next one's own text is whole, its children's and C's too, where one runs at a time.
func TestWhatOutlivesItsPredictionWritesIntoNoOther(t *testing.T) {
	t.Parallel()
	all := "mine\nraw\nmy child's\nC's\nmine, last\n"
	for _, c := range []struct {
		class string
		args  []string
		kinds []string
		begin string // the logs of the one that starts a stray, but for its kind
		logs  string
	}{
		{"Runner", nil, strays, "\nin between\nraw start\n", all},
		{"Async", nil, append([]string{"task"}, strays...), "\nin between\nraw start\n", all},
		{"Async", []string{"--concurrency", "2"}, append([]string{"task", "task_that_spawns"}, strays...), "\n", "mine\nmine, last\n"},
	} {
		t.Run(strings.Join(append([]string{c.class}, c.args...), " "), func(t *testing.T) {
			t.Parallel()
			harness.EachPython(t, func(t *testing.T, python harness.Python) {
				s := harness.Ready(t, harness.Options{Python: python.Path, Model: "strays.py:" + c.class, Args: c.args})
				for i, kind := range c.kinds {
					if a := s.Succeed(input{"start": kind}); a.Logs != "starts "+kind+c.begin {
						t.Errorf("%s: the logs of the prediction that starts it are %q", kind, a.Logs)
					}
					if a := s.Succeed(input{}); a.Logs != c.logs {
						t.Fatalf("%s: the next prediction's logs are %q, want %q", kind, a.Logs, c.logs)
					}
					for _, text := range []string{"a stray says", "a stray complains"} {
						harness.Eventually(t, kind+": the stray's text in the server's log", func() bool {
							n := 0
							for _, l := range s.Log.Lines() {
								if strings.HasSuffix(l.Text, text) && l.PredictionID == "" {
									n++
								}
							}
							return n == i+1
						})
					}
				}
			})
		})
	}
}
