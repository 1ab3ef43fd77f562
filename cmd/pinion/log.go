package main

import (
	"io"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// newLogger makes the server's log: one JSON object a line, or aligned text for people.
func newLogger(w io.Writer, level slog.Level, console, colour bool) *slog.Logger {
	if console {
		return slog.New(newConsole(w, level, colour))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

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

// isTerminal tells whether f is a terminal.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
