package supervise

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestStateTable walks every pair of states.
func TestStateTable(t *testing.T) {
	legal := map[[2]State]bool{
		{Starting, Setup}: true, {Starting, Draining}: true, {Starting, Gone}: true,
		{Setup, Ready}: true, {Setup, Draining}: true, {Setup, Gone}: true,
		{Ready, Draining}: true, {Ready, Gone}: true,
		{Draining, Gone}: true,
	}
	for from := State(0); from <= states; from++ {
		for to := State(0); to <= states; to++ {
			if got, want := from.canMove(to), legal[[2]State{from, to}]; got != want {
				t.Errorf("%v to %v: %v, want %v", from, to, got, want)
			}
		}
		if known := from < states; known == (from.String() == "unknown") {
			t.Errorf("state %d is called %q", from, from)
		}
	}
}

// TestBackoff walks the rule for workers that die.
func TestBackoff(t *testing.T) {
	type death struct {
		after  time.Duration // since the one before
		served bool
		delay  time.Duration
		again  bool
	}
	second := time.Second
	for name, deaths := range map[string][]death{
		"the fifth within a minute ends it": {
			{0, false, 0, true}, {second, false, second, true}, {second, false, 2 * second, true},
			{second, false, 4 * second, true}, {second, false, 0, false},
		},
		"a success in between starts over": {
			{0, false, 0, true}, {second, false, second, true}, {second, true, 0, true}, {second, false, second, true},
		},
		"slow deaths go on, ever more slowly": {
			{0, false, 0, true}, {50 * second, false, second, true}, {50 * second, false, 2 * second, true},
			{50 * second, false, 4 * second, true}, {50 * second, false, 8 * second, true},
			{50 * second, false, 16 * second, true}, {50 * second, false, 30 * second, true}, {50 * second, false, 30 * second, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b backoff
			now := time.Unix(1e9, 0)
			for i, d := range deaths {
				now = now.Add(d.after)
				delay, again := b.died(now, d.served)
				if delay != d.delay || again != d.again {
					t.Fatalf("death %d: %v, %v, want %v, %v", i+1, delay, again, d.delay, d.again)
				}
			}
		})
	}
}

// TestExitInWords holds that each way to end says what happened, when, and why.
func TestExitInWords(t *testing.T) {
	status := func(n int) syscall.WaitStatus { return syscall.WaitStatus(n) }
	for name, c := range map[string]struct {
		exit Exit
		want []string
	}{
		"segfault":                {exitOf(status(11|0x80), ""), []string{"SIGSEGV", "memory fault", duringPredict}},
		"abort":                   {exitOf(status(6), ""), []string{"SIGABRT", "native code aborted"}},
		"kill -9":                 {exitOf(status(9), ""), []string{"killed (SIGKILL)", "out of memory"}},
		"killed by us":            {exitOf(status(9), "it hung"), []string{"killed by the server", "it hung"}},
		"died before we did":      {exitOf(status(11), "it hung"), []string{"SIGSEGV"}},
		"exit 3":                  {exitOf(status(3<<8), ""), []string{"exited with code 3"}},
		"exit 0":                  {exitOf(status(0), ""), []string{"exited with code 0"}},
		"a signal without a name": {exitOf(status(63), ""), []string{"signal 63"}},
	} {
		t.Run(name, func(t *testing.T) {
			cause := c.exit.Cause(duringPredict)
			for _, want := range append(slices.Clone(c.want), duringPredict) {
				if !strings.Contains(cause, want) {
					t.Errorf("%q does not say %q", cause, want)
				}
			}
		})
	}
}
