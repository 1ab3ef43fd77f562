package cli

import (
	"bytes"
	"os"
	"time"

	"pinion/cmd/pinion/internal/oneshot"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/runtime/predict"
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
	live := terminal.NewTokens(a.Screen, os.Stdout)
	a.Screen.Show(a.verb())
	got, err := client.Predict(oneshot.Prediction{
		Path: plural + predict.NewID(time.Now()), Input: input,
		Stream: a.isLive() && bytes.Contains(document, []byte(`"x-cog-streaming"`)), Item: live.Add,
		Log: logs.Add,
	})
	live.Finish()
	logs.Finish()
	a.Screen.Hide()
	if err != nil {
		return err
	}
	return a.report(got, live)
}
