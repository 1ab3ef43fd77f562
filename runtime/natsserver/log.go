package natsserver

import (
	"fmt"
	"io"
	"strings"
)

// Logger writes a line for each warning and error.
type Logger struct{ W io.Writer }

func (l Logger) write(format string, v []any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, v...), "\n", " ")
	_, _ = io.WriteString(l.W, text+"\n") // a parent that no longer reads is ending
}

func (l Logger) Warnf(format string, v ...any)  { l.write(format, v) }
func (l Logger) Errorf(format string, v ...any) { l.write(format, v) }
func (l Logger) Fatalf(format string, v ...any) { l.write(format, v) }

func (l Logger) Noticef(string, ...any) {}
func (l Logger) Debugf(string, ...any)  {}
func (l Logger) Tracef(string, ...any)  {}
