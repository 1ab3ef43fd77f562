package cli

import (
	"os"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/oneshot"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/pyembed/locate"
	"pinion/runtime/predict"
)

// Locally makes the prediction in a worker that start starts, for this command alone.
func (a *asker) Locally(m *model.Model, python *locate.Python, start func() (*oneshot.Runner, error)) error {
	a.Screen.Show("reading the model")
	document, err := model.ReadDocument(m, python)
	if err != nil {
		return err
	}
	var input []byte
	if document != nil && !a.Train {
		if document, err = functionOf(document, a.Function); err != nil {
			return process.Misused(err)
		}
	}
	if document != nil {
		if input, err = a.read(document); err != nil {
			return err
		}
	}
	r, err := start()
	if err != nil {
		return err
	}
	if document == nil { // the source alone does not tell, and the worker imports the model anyway
		if input, err = a.readLoaded(r); err != nil {
			return err
		}
	}
	return a.with(r, input)
}

// readLoaded returns the input, checked by what the worker says of the model once it is imported. If it is refused, the
// runner is closed, and the model is not set up.
func (a *asker) readLoaded(r *oneshot.Runner) (input []byte, err error) {
	document, err := r.Document()
	if err == nil && !a.Train {
		document, err = functionOf(document, a.Function)
	}
	if err == nil {
		input, err = a.read(document)
	}
	if err != nil {
		r.Close(true)
	}
	return input, err
}

// with makes the prediction with a local runner, which it closes.
func (a *asker) with(r *oneshot.Runner, input []byte) error {
	a.Screen.Show("setting the model up")
	if err := r.Ready(); err != nil {
		r.Close(true)
		return err
	}
	_, verb := a.words()
	a.Screen.Show(verb)
	req := predict.Request{Input: input, Function: a.Function}
	if a.Train {
		req.Kind = predict.KindTraining
	}
	var begun func()
	if items := a.Input.Items; items != nil {
		req.Inlet = &predict.Inlet{Name: items.Name}
		begun = func() { go items.Feed(req.Inlet) }
	}
	live := a.tokens()
	var watch predict.Observer
	if a.isLive() || terminal.TakesEscapes(os.Stderr) {
		watch = live
	}
	p, interrupted, err := r.Run(req, watch, begun)
	live.Finish()
	if err != nil {
		r.Close(true)
		return err
	}
	rec := p.Record()
	var encoder predict.Encoder
	answer := oneshot.Answer{
		Object: encoder.Append(nil, &rec), Status: rec.Status.String(), Error: rec.Error, Output: rec.Output,
		Interrupted: interrupted,
	}
	if rec.Open {
		answer.Output = append(rec.Output[:len(rec.Output):len(rec.Output)], ']')
	}
	r.Close(false) // the model's last words come before the output
	a.Screen.Hide()
	err = a.report(answer, live)
	p.Release()
	return err
}
