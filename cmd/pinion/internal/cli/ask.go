package cli

import (
	"fmt"
	"os"

	"pinion/cmd/pinion/internal/model/inputs"
	"pinion/cmd/pinion/internal/oneshot"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/runtime/predict"
)

// asker makes one prediction, or training.
type asker struct {
	Input  inputs.Flags
	Output string // the file for the output; "" means chosen by its type
	Train  bool
	// Function names the function that is asked; "" means run.
	Function string
	Screen   *terminal.Screen

	fields *inputs.Fields
}

// read returns the input, checked.
func (a *asker) read(document []byte) ([]byte, error) {
	f, err := inputs.ReadFields(document, a.Train)
	if err != nil {
		return nil, err
	}
	a.fields = f
	return a.Input.Read(f, os.Stdin)
}

// words are the noun and the verb for what is made.
func (a *asker) words() (noun, verb string) {
	if a.Train {
		return "Training", "training"
	}
	return "Prediction", "predicting"
}

// isLive reports whether the output is to appear as it comes: tokens on a terminal, and what answers a streamed input.
func (a *asker) isLive() bool {
	return !a.Input.IsSet && a.Output == "" && (a.fields.IsText() && terminal.IsTerminal(os.Stdout) ||
		a.Input.Items != nil && a.fields.Yields())
}

// tokens returns what prints the live output: text that belongs together, or an item a line.
func (a *asker) tokens() *terminal.Tokens {
	return terminal.NewTokens(a.Screen, os.Stdout, a.isLive(), a.Input.Items != nil && !a.fields.IsText())
}

// report prints the result of a prediction. live has what was printed before its end.
func (a *asker) report(got oneshot.Answer, live *terminal.Tokens) error {
	o := &inputs.Outputs{File: a.Output, Stdout: os.Stdout, Stderr: os.Stderr, Terminal: terminal.IsTerminal(os.Stdout)}
	a.Screen.EndOutput(os.Stdout)
	var err error
	switch {
	case a.Input.IsSet:
		err = o.WriteJSON(got.Object)
	case got.Status != predict.Succeeded.String() || live.Printed || a.Input.Items != nil && a.isLive():
	case a.isLive():
		err = o.WriteText([]byte(terminal.Joined(got.Output)))
	default:
		err = o.Write(a.fields, got.Output)
	}
	if err != nil {
		return err
	}
	noun, _ := a.words()
	switch {
	case got.Status == predict.Succeeded.String():
		return nil
	case got.Interrupted:
		fmt.Fprintln(os.Stderr, noun+" canceled")
		return process.ExitWith(process.ExitInterrupted)
	}
	fmt.Fprintf(os.Stderr, "%s failed with status %q: %s\n", noun, got.Status, got.Error)
	return process.ExitWith(process.ExitFailure)
}
