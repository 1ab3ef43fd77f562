package logging

import (
	"fmt"
	"log/slog"
	"os"

	"pinion/cmd/pinion/internal/terminal"
	"pinion/cmd/pinion/internal/usertext"
)

// Settings are the settings of a server's log.
type Settings struct {
	Level  string // debug, info, warning or error
	Format string // json or console; "" means console on a terminal
}

const (
	formatJSON    = "json"
	formatConsole = "console"
)

func (s *Settings) Settings() usertext.Settings {
	return usertext.Settings{
		{
			To: &s.Level, Name: "log-level", Variable: "COG_LOG_LEVEL", IsCogs: true, Init: "info", Group: usertext.GroupLog,
			Help:     "debug, info, warning or error",
			Examples: []string{"debug", "info", "warning", "error"},
			Parse: func(v string) (string, error) {
				if _, ok := parseLevel(v); !ok {
					return "", fmt.Errorf("%q: must be debug, info, warning or error", v)
				}
				return v, nil
			},
		},
		{
			To: &s.Format, Name: "log-format", Variable: "LOG_FORMAT", IsCogs: true, Group: usertext.GroupLog, Common: true,
			Words: []string{formatJSON, formatConsole}, Help: "json or console", Default: "console on a terminal",
		},
	}
}

// Console reports whether the log is for people.
func (s *Settings) Console() bool {
	return s.Format == formatConsole || s.Format == "" && terminal.IsTerminal(os.Stderr)
}

// Open makes the log, which goes to stderr. The settings were checked.
func (s *Settings) Open() (*slog.Logger, *Sink) {
	level, _ := parseLevel(s.Level)
	return New(int(os.Stderr.Fd()), level, s.Console(), terminal.TakesEscapes(os.Stderr))
}
