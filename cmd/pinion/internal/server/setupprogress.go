package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"pinion/cmd/pinion/internal/terminal"
	"pinion/runtime/health"
	"pinion/runtime/logtext"
)

// progressPause is the time between two drawings of a setup's progress.
const progressPause = time.Second

// drawsDrafts reports whether the log is a terminal, which draws over lines that have not ended.
func drawsDrafts(log *slog.Logger) bool { return log.Enabled(context.Background(), logtext.LevelDraft) }

// eraseDraft erases what is drawn, before text that is not a record.
func eraseDraft(log *slog.Logger, w io.Writer) {
	if drawsDrafts(log) {
		_, _ = io.WriteString(w, terminal.EraseLine) // the log's sink never fails
	}
}

// drawSetup draws for how long the setup has run and what was written last, until the next record of the log.
func (m *servedModel) drawSetup() {
	h := m.Service.Glance()
	if h.Status != health.Starting || h.Setup == nil || h.Setup.Status != health.SetupStarting {
		return
	}
	m.Log.Log(context.Background(), logtext.LevelDraft, logtext.LastLine(h.Setup.Logs))
}

// quietPause is after how long without a line of the model the log says that the setup runs.
const quietPause = 10 * time.Second

// quietSetup logs that a setup runs while its model writes nothing.
type quietSetup struct {
	m     *servedModel
	began time.Time
	seen  int // bytes of the setup's log at the last look
}

// tell looks, each quietPause. It returns false if no setup runs.
func (q *quietSetup) tell() bool {
	h := q.m.Service.Glance()
	if h.Status != health.Starting {
		return false
	}
	logs := ""
	if h.Setup != nil {
		logs = h.Setup.Logs
	}
	if len(logs) == q.seen {
		q.m.Log.Info("the model is being set up",
			"seconds", int(time.Since(q.began).Seconds()), "last_line", logtext.LastLine(logs))
	}
	q.seen = len(logs)
	return true
}

// setupLog is a log whose drafts say for how long the setup has run: those of drawSetup, and a line of the model that
// has not ended, as that of a bar. So both are one line.
type setupLog struct {
	slog.Handler
	began *atomic.Int64 // since 1970, in nanoseconds; 0 means none runs
}

// Handle implements slog.Handler.
func (h setupLog) Handle(ctx context.Context, r slog.Record) error {
	if began := h.began.Load(); r.Level == logtext.LevelDraft && began != 0 {
		r.Message = setupProgress(r.Time.Sub(time.Unix(0, began)), r.Message)
	}
	return h.Handler.Handle(ctx, r)
}

func (h setupLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return setupLog{h.Handler.WithAttrs(attrs), h.began}
}

func (h setupLog) WithGroup(name string) slog.Handler {
	return setupLog{h.Handler.WithGroup(name), h.began}
}

// setupProgress returns the progress of a setup in one line. A bar that the model draws is part of it.
func setupProgress(elapsed time.Duration, line string) string {
	text := fmt.Sprintf("setting up for %s", elapsed.Truncate(time.Second))
	if line != "" {
		text += ": " + line
	}
	return text
}
