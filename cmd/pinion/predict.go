package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pinion/pyembed/locate"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// asking is 'pinion predict' and 'pinion train': one prediction, or training.
type asking struct {
	subject subject
	input   inputFlags
	output  string
	url     string
	train   bool

	dir    string
	screen *screen
	fields *fields
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
	cmd.Args = oneFolder
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.input.isSet = cmd.Flags().Changed("json")
		if err := checkPlace(a.output); err != nil {
			return misused(err)
		}
		a.screen = newScreen(os.Stderr)
		defer a.screen.hide()
		a.dir = folderOf(args)
		if a.url != "" {
			if len(args) > 0 {
				return errors.New("--url asks a server, which has its model: leave the folder out")
			}
			return a.remotely()
		}
		return a.locally()
	}
	a.subject.bindFlags(cmd.Flags())
	a.input.bindFlags(cmd.Flags())
	cmd.Flags().StringVarP(&a.output, "output", "o", "", "the `file` to write the output to; - prints that of a file")
	cmd.Flags().StringVar(&a.url, "url", "", "ask the server at this address instead, as http://localhost:5000")
	return cmd
}

// locally makes the prediction in a worker of this command's own.
func (a *asking) locally() error {
	m, err := a.subject.model(a.dir)
	if err != nil {
		return err
	}
	if err := has(m, a.train); err != nil {
		return err
	}
	python, err := locate.Find(a.subject.options(m))
	if err != nil {
		return &exitError{exitUsage, err}
	}
	a.screen.show("reading the model")
	document, err := readDocument(m, python)
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
	e, err := newEngine(m, python, mode, false, slog.New(modelLog{a.screen}))
	if err != nil {
		return failed(err)
	}
	if document == nil { // the source alone does not tell, and the worker imports the model anyway
		if input, err = a.readLoaded(e); err != nil {
			return err
		}
	}
	return a.with(e, input)
}

// readLoaded is the input, checked by what the worker says of the model once it is imported. Where it does not do, the
// engine is closed, and the model is not set up.
func (a *asking) readLoaded(e *engine) (input []byte, err error) {
	document, err := e.described()
	if err == nil {
		input, err = a.read(document)
	}
	if err != nil {
		e.close(true)
	}
	if errors.Is(err, errInterrupted) {
		return nil, &exitError{code: exitInterrupted}
	}
	return input, failed(err)
}

// read is the input, checked.
func (a *asking) read(document []byte) ([]byte, error) {
	f, err := readFields(document, a.train)
	if err != nil {
		return nil, err
	}
	a.fields = f
	input, err := a.input.read(f, os.Stdin)
	return input, misused(err)
}

// with makes the prediction with an engine, which it closes.
func (a *asking) with(e *engine, input []byte) error {
	a.screen.show("setting the model up")
	if err := e.ready(); err != nil {
		e.close(true)
		if errors.Is(err, errInterrupted) {
			return &exitError{code: exitInterrupted}
		}
		return failed(err)
	}
	a.screen.show(a.verb())
	req := predict.Request{Input: input}
	if a.train {
		req.Kind = predict.KindTraining
	}
	live := newTokens(a.screen, os.Stdout)
	var watch predict.Observer
	if a.isLive() {
		watch = live
	}
	p, interrupted, err := e.carryOut(req, watch)
	live.finish()
	if err != nil {
		e.close(true)
		return failed(err)
	}
	rec := p.Record()
	var encoder predict.Encoder
	answer := answer{
		object: encoder.Append(nil, &rec), status: rec.Status.String(), err: rec.Error, output: rec.Output, interrupted: interrupted,
	}
	if rec.Open {
		answer.output = append(rec.Output[:len(rec.Output):len(rec.Output)], ']')
	}
	e.close(false) // the model's last words come before the output
	a.screen.hide()
	err = a.tell(answer, live)
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
	return !a.input.isSet && a.output == "" && a.fields.isText() && isTerminal(os.Stdout)
}

// answer is how a prediction ended.
type answer struct {
	object []byte // the prediction object
	status string
	err    string
	output []byte // nil: none
	// interrupted: the user asked for the end.
	interrupted bool
}

// tell prints what came of a prediction. live has what was printed before its end.
func (a *asking) tell(got answer, live *tokens) error {
	o := &outputs{file: a.output, stdout: os.Stdout, stderr: os.Stderr}
	if live.printed {
		fmt.Fprintln(os.Stdout)
	}
	var err error
	switch {
	case a.input.isSet:
		err = o.writeJSON(got.object)
	case got.status != predict.Succeeded.String() || live.printed:
	case a.isLive():
		err = o.writeText([]byte(joined(got.output)))
	default:
		err = o.write(a.fields, got.output)
	}
	if err != nil {
		return failed(err)
	}
	switch {
	case got.status == predict.Succeeded.String():
		return nil
	case got.interrupted:
		fmt.Fprintln(os.Stderr, a.noun()+" canceled")
		return &exitError{code: exitInterrupted}
	}
	fmt.Fprintf(os.Stderr, "%s failed with status %q: %s\n", a.noun(), got.status, got.err)
	return &exitError{code: exitFailure}
}

func (a *asking) noun() string {
	if a.train {
		return "Training"
	}
	return "Prediction"
}

// joined is the text that the items of a list make together.
func joined(list []byte) string {
	var text strings.Builder
	items := rawjson.Array(list)
	for item, ok := items.Next(); ok; item, ok = items.Next() {
		text.WriteString(token(item))
	}
	return text.String()
}

// token is one item as text.
func token(item []byte) string {
	if rawjson.KindOf(item) == rawjson.KindString {
		return rawjson.Text(item)
	}
	return string(item)
}
