package logging

import (
	"fmt"
	"log/slog"
	"os"

	"pinion/cmd/pinion/internal/terminal"
)

// Settings are the flags of a server's log.
type Settings struct {
	Level  string // debug, info, warning or error
	Format string // json or console; "" means console on a terminal
}

// Check refuses invalid values. The error begins with the flag's name.
func (s *Settings) Check() error {
	if err := s.SetLevel(s.Level); err != nil {
		return fmt.Errorf("log-level %w", err)
	}
	if err := s.SetFormat(s.Format); err != nil {
		return fmt.Errorf("log-format %w", err)
	}
	return nil
}

// SetLevel refuses what is not a level.
func (s *Settings) SetLevel(v string) error {
	if _, ok := parseLevel(v); !ok {
		return fmt.Errorf("%q: must be debug, info, warning or error", v)
	}
	s.Level = v
	return nil
}

// SetFormat refuses what is not a format.
func (s *Settings) SetFormat(v string) error {
	if v != "" && v != "json" && v != "console" {
		return fmt.Errorf("%q: must be json or console", v)
	}
	s.Format = v
	return nil
}

// Console reports whether the log is for people.
func (s *Settings) Console() bool {
	return s.Format == "console" || s.Format == "" && terminal.IsTerminal(os.Stderr)
}

// Open makes the log, which goes to stderr. The settings were checked.
func (s *Settings) Open() (*slog.Logger, *Sink) {
	level, _ := parseLevel(s.Level)
	return New(int(os.Stderr.Fd()), level, s.Console(), terminal.TakesEscapes(os.Stderr))
}
