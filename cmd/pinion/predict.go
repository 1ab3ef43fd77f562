package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/apiclient"
	"pinion/cmd/pinion/internal/contain"
	"pinion/cmd/pinion/internal/localrunner"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/modelio"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/cmd/pinion/internal/usage"
	"pinion/pyembed/locate"
	"pinion/runtime/predict"
)

// asking is 'pinion predict' and 'pinion train': one prediction, or training.
type asking struct {
	flags  modelFlags
	input  modelio.InputFlags
	output string
	url    string
	train  bool

	dir    string
	screen *terminal.Screen
	fields *modelio.Fields
}

func newPredict() *cobra.Command {
	a := &asking{}
	cmd := &cobra.Command{
		Use:     "predict [DIR]",
		Aliases: []string{"run"},
		Short:   "Make one prediction, without a server",
		Long: `Set the model in DIR (default: the current folder) up, make one prediction, and print its output.

A text is printed as it is, anything else as JSON; files are written to output.<extension> in the current folder.
What the model prints goes to stderr.`,
		Example: "  pinion predict -i prompt=\"a cat\" -i steps=20\n  pinion predict -i image=@photo.jpg -o mask.png\n" +
			"  echo '{\"prompt\": \"a cat\"}' | pinion predict --json -",
	}
	return a.complete(cmd)
}

func newTrain() *cobra.Command {
	a := &asking{train: true}
	cmd := &cobra.Command{
		Use:     "train [DIR]",
		Short:   "Run the model's train function once, without a server",
		Long:    "Run the train function of the model in DIR (default: the current folder) once, and print its output.",
		Example: "  pinion train -i data=@pictures.zip -i epochs=3",
	}
	return a.complete(cmd)
}

func (a *asking) complete(cmd *cobra.Command) *cobra.Command {
	cmd.Args = usage.OneFolder
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.input.IsSet = cmd.Flags().Changed("json")
		if err := modelio.CheckFile(a.output); err != nil {
			return misused(err)
		}
		a.screen = terminal.NewScreen(os.Stderr)
		defer a.screen.Hide()
		a.dir = folderOf(args)
		if a.url != "" {
			if len(args) > 0 {
				return errors.New("--url asks a server, which has its model: leave the folder out")
			}
			return a.remotely()
		}
		return a.locally()
	}
	a.flags.bindFlags(cmd.Flags())
	a.input.BindFlags(cmd.Flags())
	cmd.Flags().StringVarP(&a.output, "output", "o", "", "the `file` to write the output to; - prints that of a file")
	cmd.Flags().StringVar(&a.url, "url", "", "ask the server at this address instead, as http://localhost:5000")
	return cmd
}

// locally makes the prediction in a worker of this command's own.
func (a *asking) locally() error {
	m, err := a.flags.model(a.dir)
	if err != nil {
		return err
	}
	if err := has(m, a.train); err != nil {
		return err
	}
	python, err := locate.Find(a.flags.options(m))
	if err != nil {
		return &exitError{exitUsage, err}
	}
	a.screen.Show("reading the model")
	document, err := model.ReadDocument(m, python)
	if err != nil {
		return failed(err)
	}
	var input []byte
	if document != nil {
		if input, err = a.read(document); err != nil {
			return failed(err)
		}
	}
	mode := "predict"
	if a.train {
		mode = "train"
	}
	r, err := newLocalRunner(m, python, mode, false, terminal.NewModelLog(a.screen))
	if err != nil {
		return failed(err)
	}
	if document == nil { // the source alone does not tell, and the worker imports the model anyway
		if input, err = a.readLoaded(r); err != nil {
			return err
		}
	}
	return a.with(r, input)
}

// readLoaded is the input, checked by what the worker says of the model once it is imported. Where it does not do, the
// runner is closed, and the model is not set up.
func (a *asking) readLoaded(r *localrunner.Runner) (input []byte, err error) {
	document, err := r.Document()
	if err == nil {
		input, err = a.read(document)
	}
	if err != nil {
		r.Close(true)
	}
	if errors.Is(err, contain.ErrInterrupted) {
		return nil, &exitError{code: exitInterrupted}
	}
	return input, failed(err)
}

// read is the input, checked.
func (a *asking) read(document []byte) ([]byte, error) {
	f, err := modelio.ReadFields(document, a.train)
	if err != nil {
		return nil, err
	}
	a.fields = f
	input, err := a.input.Read(f, os.Stdin)
	return input, misused(err)
}

// with makes the prediction with a local runner, which it closes.
func (a *asking) with(r *localrunner.Runner, input []byte) error {
	a.screen.Show("setting the model up")
	if err := r.Ready(); err != nil {
		r.Close(true)
		if errors.Is(err, contain.ErrInterrupted) {
			return &exitError{code: exitInterrupted}
		}
		return failed(err)
	}
	a.screen.Show(a.verb())
	req := predict.Request{Input: input}
	if a.train {
		req.Kind = predict.KindTraining
	}
	live := terminal.NewTokens(a.screen, os.Stdout)
	var watch predict.Observer
	if a.isLive() {
		watch = live
	}
	p, interrupted, err := r.Run(req, watch)
	live.Finish()
	if err != nil {
		r.Close(true)
		return failed(err)
	}
	rec := p.Record()
	var encoder predict.Encoder
	answer := apiclient.Answer{
		Object: encoder.Append(nil, &rec), Status: rec.Status.String(), Error: rec.Error, Output: rec.Output, Interrupted: interrupted,
	}
	if rec.Open {
		answer.Output = append(rec.Output[:len(rec.Output):len(rec.Output)], ']')
	}
	r.Close(false) // the model's last words come before the output
	a.screen.Hide()
	err = a.report(answer, live)
	p.Release()
	return err
}

func (a *asking) verb() string {
	if a.train {
		return "training"
	}
	return "predicting"
}

// isLive tells whether tokens are to appear as they come.
func (a *asking) isLive() bool {
	return !a.input.IsSet && a.output == "" && a.fields.IsText() && terminal.IsTerminal(os.Stdout)
}

// report prints what came of a prediction. live has what was printed before its end.
func (a *asking) report(got apiclient.Answer, live *terminal.Tokens) error {
	o := &modelio.Outputs{File: a.output, Stdout: os.Stdout, Stderr: os.Stderr}
	if live.Printed {
		fmt.Fprintln(os.Stdout)
	}
	var err error
	switch {
	case a.input.IsSet:
		err = o.WriteJSON(got.Object)
	case got.Status != predict.Succeeded.String() || live.Printed:
	case a.isLive():
		err = o.WriteText([]byte(terminal.Joined(got.Output)))
	default:
		err = o.Write(a.fields, got.Output)
	}
	if err != nil {
		return failed(err)
	}
	switch {
	case got.Status == predict.Succeeded.String():
		return nil
	case got.Interrupted:
		fmt.Fprintln(os.Stderr, a.noun()+" canceled")
		return &exitError{code: exitInterrupted}
	}
	fmt.Fprintf(os.Stderr, "%s failed with status %q: %s\n", a.noun(), got.Status, got.Error)
	return &exitError{code: exitFailure}
}

func (a *asking) noun() string {
	if a.train {
		return "Training"
	}
	return "Prediction"
}
