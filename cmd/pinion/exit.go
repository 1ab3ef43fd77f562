package main

import (
	"errors"
	"fmt"

	"pinion/cmd/pinion/internal/contain"
	"pinion/cmd/pinion/internal/modelio"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2 // usage, or an environment that cannot serve
	exitInterrupted = 130
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

// failed is an error that ends the command with exit code 1, or with 2 if it is about the input that its flags give.
func failed(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, contain.ErrInterrupted) {
		return &exitError{code: exitInterrupted}
	}
	if _, is := err.(*exitError); is {
		return err
	}
	var input *modelio.InputError
	if errors.As(err, &input) {
		return &exitError{exitUsage, err}
	}
	return &exitError{exitFailure, err}
}

// misused is an error that ends the command with exit code 2.
func misused(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}
