package exit

import (
	"errors"
	"fmt"

	"pinion/cmd/pinion/internal/modelio"
	"pinion/cmd/pinion/internal/process"
)

// The exit codes.
const (
	OK          = 0
	Failure     = 1
	Usage       = 2 // usage, or an environment that cannot serve
	Interrupted = 130
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

// With ends the command with an exit code, and prints nothing.
func With(code int) error { return &exitError{code: code} }

// Failed is an error that ends the command with exit code 1, or with 2 if it is about the input that its flags give.
func Failed(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, process.ErrInterrupted) {
		return With(Interrupted)
	}
	if _, is := err.(*exitError); is {
		return err
	}
	var input *modelio.InputError
	if errors.As(err, &input) {
		return Misused(err)
	}
	return &exitError{Failure, err}
}

// Misused is an error that ends the command with exit code 2.
func Misused(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{Usage, err}
}

// Code is the exit code of an error that a command has ended with, and what is to be printed of it. What cobra itself
// refuses is usage.
func Code(err error) (int, error) {
	if err == nil {
		return OK, nil
	}
	if e, ok := err.(*exitError); ok {
		return e.code, e.err
	}
	return Usage, err
}
