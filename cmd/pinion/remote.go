package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"pinion/cmd/pinion/internal/apiclient"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/runtime/predict"
)

// clientOf is the client of a server, with the token that the environment has.
func clientOf(url string) *apiclient.Client {
	return &apiclient.Client{
		Base: strings.TrimRight(url, "/"), Token: os.Getenv("PINION_AUTH_TOKEN"), UserAgent: "pinion/" + version,
	}
}

// remotely asks a running server.
func (a *asking) remotely() error {
	if !isHTTP(a.url) {
		return fmt.Errorf("--url %q: it is an http or https URL", a.url)
	}
	client := clientOf(a.url)
	document, err := client.Document()
	if err != nil {
		return failed(err)
	}
	input, err := a.read(document)
	if err != nil {
		return failed(err)
	}
	plural := "/predictions/"
	if a.train {
		plural = "/trainings/"
	}
	live := terminal.NewTokens(a.screen, os.Stdout)
	a.screen.Show(a.verb())
	got, err := client.Predict(apiclient.Prediction{
		Path: plural + predict.NewID(time.Now()), Input: input,
		Stream: a.isLive() && bytes.Contains(document, []byte(`"x-cog-streaming"`)), Item: live.Add,
	})
	live.Finish()
	a.screen.Hide()
	if err != nil {
		return failed(err)
	}
	if got.Logs != "" {
		fmt.Fprint(os.Stderr, strings.TrimSuffix(got.Logs, "\n")+"\n")
	}
	return a.report(got, live)
}
