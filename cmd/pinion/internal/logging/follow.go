package logging

import (
	"context"
	"log/slog"
)

// Follow returns a logger like log, whose errors are reported. r may be nil.
func (r *Reporter) Follow(log *slog.Logger) *slog.Logger {
	if r == nil {
		return log
	}
	return slog.New(follower{Handler: log.Handler(), reporter: r})
}

type follower struct {
	slog.Handler
	reporter *Reporter
	attrs    []slog.Attr // of With
}

// Enabled is true also for records that the log itself leaves out.
func (h follower) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.Handler.Enabled(ctx, level)
}

// Handle reports a record, and writes it.
func (h follower) Handle(ctx context.Context, rec slog.Record) error {
	if rec.Level >= slog.LevelWarn {
		h.reporter.take(rec, h.attrs)
	}
	if !h.Handler.Enabled(ctx, rec.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, rec)
}

func (h follower) WithAttrs(attrs []slog.Attr) slog.Handler {
	return follower{h.Handler.WithAttrs(attrs), h.reporter, append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)}
}

func (h follower) WithGroup(name string) slog.Handler {
	return follower{h.Handler.WithGroup(name), h.reporter, h.attrs}
}
