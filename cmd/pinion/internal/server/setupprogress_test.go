package server

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pinion/runtime/logtext"
	"pinion/tests/assert"
)

func TestSetupProgress_HasTimeAndLastLine(t *testing.T) {
	for _, c := range []struct {
		logs  string
		after time.Duration
		want  string
	}{
		{"", 2500 * time.Millisecond, "setting up for 2s"},
		{"loading\n", 72 * time.Second, "setting up for 1m12s: loading"},
		{"a\n\rshards:  40%|####  | 4/10\rshards:  50%|#####", time.Second, "setting up for 1s: shards:  50%|#####"},
		{"outer:  10%|\n\rinner:  45%|##\x1b[A", time.Second, "setting up for 1s: inner:  45%|##"},
		{"x\x1b[2J\x07y\n\n", time.Second, "setting up for 1s: xy"},
		{strings.Repeat("é", 4096) + "z", time.Second, "setting up for 1s: " + strings.Repeat("é", 4096/2-1) + "z"},
	} {
		got := setupProgress(c.after, logtext.LastLine(c.logs))
		assert.Equal(t, fmt.Sprintf("%.40q after %v", c.logs, c.after), got, c.want)
	}
}

// TestSetupLog_DraftsHaveTheTime while the setup runs, and no other record.
func TestSetupLog_DraftsHaveTheTime(t *testing.T) {
	var out bytes.Buffer
	var began atomic.Int64
	log := slog.New(setupLog{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: logtext.LevelDraft}), &began}).With("a", 1)
	says := func(level slog.Level, want string) {
		t.Helper()
		out.Reset()
		if log.Log(context.Background(), level, "shards:  40%|"); !strings.Contains(out.String(), `msg="`+want+`"`) {
			t.Errorf("got %s, want %q", &out, want)
		}
	}
	says(logtext.LevelDraft, "shards:  40%|")
	began.Store(time.Now().Add(-time.Hour).UnixNano())
	says(logtext.LevelDraft, "setting up for 1h0m0s: shards:  40%|")
	says(slog.LevelInfo, "shards:  40%|")
}
