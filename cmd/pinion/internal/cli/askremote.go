package cli

import (
	"time"

	"pinion/cmd/pinion/internal/oneshot"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/runtime/predict"
	"pinion/runtime/schema"
)

func (a *asker) Remotely(client *oneshot.Client) error {
	document, err := client.Document()
	if err != nil {
		return err
	}
	input, err := a.read(document)
	if err != nil {
		return err
	}
	plural := "/predictions/"
	if a.Train {
		plural = "/trainings/"
	}
	logs := terminal.NewLines(a.Screen)
	live := a.tokens()
	_, verb := a.words()
	a.Screen.Show(verb)
	got, err := client.Predict(oneshot.Prediction{
		Path: plural + predict.NewID(time.Now()), Input: input,
		Stream: a.isLive() && !a.Train && streams(document), Item: live.Add,
		Log: logs.Add, Metric: live.Metric, Items: a.Input.Items,
	})
	live.Finish()
	logs.Finish()
	a.Screen.Hide()
	if err != nil {
		return err
	}
	return a.report(got, live)
}

// streams reports whether the server sends the output of the document's model as it comes.
func streams(document []byte) bool {
	d, _ := schema.ReadDocument[struct { // a document that cannot be read streams nothing
		Array string `json:"x-cog-array-type"`
	}](document)
	operation, _ := d.Predict()
	return operation.Streaming || d.Schemas[schema.ComponentName(true, false)].Array == "iterator"
}
