package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// The exit codes.
const (
	ExitOK          = 0
	ExitFailure     = 1
	ExitUsage       = 2 // usage, or an environment that cannot serve
	ExitInterrupted = 130
)

// exitError is an error with the exit code it ends the process with; err may be nil.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// ExitWith ends the command with an exit code, and prints nothing.
func ExitWith(code int) error { return &exitError{code: code} }

// Failed returns an error that ends the command with exit code 1, or with 2 if it is about the input that its flags
// give.
func Failed(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrInterrupted) {
		return ExitWith(ExitInterrupted)
	}
	if _, is := errors.AsType[*exitError](err); is {
		return err
	}
	var misuse interface{ IsMisuse() bool }
	if errors.As(err, &misuse) && misuse.IsMisuse() {
		return Misused(err)
	}
	return &exitError{ExitFailure, err}
}

// Misused returns an error that ends the command with exit code 2.
func Misused(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{ExitUsage, err}
}

// ExitCode returns the exit code of an error that a command has ended with, and what is to be printed of it. What cobra
// itself refuses is usage, but not a stdout that cannot be written.
func ExitCode(err error) (int, error) {
	if err == nil {
		return ExitOK, nil
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code, e.err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path == os.Stdout.Name() {
		return ExitFailure, err
	}
	return ExitUsage, err
}
