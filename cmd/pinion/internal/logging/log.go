package logging

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"time"
)

// newLogger makes the server's log: one JSON object a line, or aligned text for people. colour means that the text has
// colours, as on a terminal.
func newLogger(w io.Writer, level slog.Level, console, colour bool) *slog.Logger {
	if console {
		return slog.New(newConsole(w, level, colour, colour))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// New makes a log to a descriptor whose reader may stop or leave without harm to the server.
func New(fd int, level slog.Level, console, colour bool) (*slog.Logger, *Sink) {
	sink := Open(fd, BufferSize)
	sink.notice = func(records, size uint64) []byte {
		var text bytes.Buffer
		newLogger(&text, level, console, colour).Error("log records were dropped: the log's reader is too slow",
			"records", records, "bytes", size)
		return text.Bytes()
	}
	return newLogger(sink, level, console, colour), sink
}

// FlushTimeout is how long the end of the server waits for the log's reader.
const FlushTimeout = time.Second

// parseLevel reads a level by the names that Cog takes.
func parseLevel(name string) (slog.Level, bool) {
	switch strings.ToLower(name) {
	case "debug", "trace":
		return slog.LevelDebug, true
	case "info", "":
		return slog.LevelInfo, true
	case "warn", "warning":
		return slog.LevelWarn, true
	case "error", "critical", "fatal":
		return slog.LevelError, true
	}
	return slog.LevelInfo, false
}
