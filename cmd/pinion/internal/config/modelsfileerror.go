package config

import (
	"fmt"
	"strings"

	"pinion/runtime/logtext"
)

// FileError is the mistakes of a file.
type FileError struct {
	File     string
	mistakes []string
}

// Add adds a mistake: in which line (0 means the file as a whole), what is wrong, and what would be right; fix may be
// "".
func (e *FileError) Add(line int, what, fix string) {
	at := e.File
	if line > 0 {
		at = fmt.Sprintf("%s:%d", e.File, line)
	}
	if fix != "" {
		fix = "\n    " + fix
	}
	e.mistakes = append(e.mistakes, at+": "+logtext.ClipTo(what, longest)+fix)
}

// OrNil returns the error, or nil if there is no mistake.
func (e *FileError) OrNil() error {
	if len(e.mistakes) == 0 {
		return nil
	}
	return e
}

// How much is shown of a file with many mistakes, or with very long words.
const (
	most    = 50
	longest = 600 // bytes
)

func (e *FileError) Error() string {
	if more := len(e.mistakes) - most; more > 0 {
		return strings.Join(e.mistakes[:most], "\n") + fmt.Sprintf("\nand %d more", more)
	}
	return strings.Join(e.mistakes, "\n")
}
