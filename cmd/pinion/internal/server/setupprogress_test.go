package server

import (
	"strings"
	"testing"
	"time"

	"pinion/runtime/health"
)

func TestSetupProgress_HasTimeAndLastLine(t *testing.T) {
	began := time.Unix(1000, 0)
	for _, c := range []struct {
		logs  string
		after time.Duration
		want  string
	}{
		{"", 2500 * time.Millisecond, "setting up for 2s"},
		{"loading\n", 72 * time.Second, "setting up for 1m12s: loading"},
		{"a\n\rshards:  40%|####  | 4/10\rshards:  50%|#####", time.Second, "setting up for 1s: shards:  50%|#####"},
		{"outer:  10%|\n\rinner:  45%|##\x1b[A", time.Second, "setting up for 1s: inner:  45%|##"},
		{"x\x1b[2J\x07y\n\n", time.Second, "setting up for 1s: x[2Jy"},
		{strings.Repeat("é", maxLastLine) + "z", time.Second, "setting up for 1s: " + strings.Repeat("é", maxLastLine/2-1) + "z"},
	} {
		got := setupProgress(&health.Setup{StartedAt: health.Time{Time: began}, Logs: c.logs}, began.Add(c.after))
		if got != c.want {
			t.Errorf("%.40q after %v: got %.80q, want %.80q", c.logs, c.after, got, c.want)
		}
	}
}
