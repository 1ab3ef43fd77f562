package modelsfile

import (
	"fmt"
	"strings"
)

// Error is the mistakes of a file.
type Error struct {
	File     string
	mistakes []string
}

// Add adds a mistake: in which line (0: in the file as a whole), what is wrong, and what would be right; mend may be "".
func (e *Error) Add(line int, what, mend string) {
	at := e.File
	if line > 0 {
		at = fmt.Sprintf("%s:%d", e.File, line)
	}
	if mend != "" {
		mend = "\n    " + mend
	}
	e.mistakes = append(e.mistakes, at+": "+what+mend)
}

// OrNil is the error, or nil where there is no mistake.
func (e *Error) OrNil() error {
	if len(e.mistakes) == 0 {
		return nil
	}
	return e
}

func (e *Error) Error() string { return strings.Join(e.mistakes, "\n") }
