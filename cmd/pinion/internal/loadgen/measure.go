package loadgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"pinion/cmd/pinion/internal/model/inputs"
	"pinion/cmd/pinion/internal/oneshot"
	"pinion/cmd/pinion/internal/terminal"
)

// Measurement is what is measured, and where its figures go.
type Measurement struct {
	Input  inputs.Flags
	Load   Options // connections, rate and times
	Output string  // a file for the figures as JSON; "-" means stdout, instead of the table; "" means none
	Screen *terminal.Screen
}

// Run finds the input, tries it once, and measures until the end or stop.
func (m *Measurement) Run(client *oneshot.Client, stop <-chan struct{}) error {
	m.Screen.Show("reading the schema")
	document, err := client.Document()
	if err != nil {
		return err
	}
	f, err := inputs.ReadFields(document, false)
	if err != nil {
		return err
	}
	input, err := m.Input.ReadOrSample(f, os.Stdin)
	if err != nil {
		return err
	}
	o := m.Load
	o.URL, o.Body, o.UserAgent, o.Stop = client.Base+"/predictions", append(append([]byte(`{"input":`), input...), '}'),
		client.UserAgent, stop
	if err := try(o); err != nil {
		return err
	}
	m.Screen.Show("measuring")
	r := Run(o)
	m.Screen.Hide()
	return m.report(Report{Target: client.Base, Input: input, Asked: o, Got: r})
}

// try sends one request, so that an input that the model refuses is not measured.
func try(o Options) error {
	status, body, err := Once(o)
	if err != nil {
		return err
	}
	_, failure := Read(body)
	if status == 200 && failure == "" {
		return nil
	}
	var problem struct{ Error, Detail json.RawMessage }
	why := string(body)
	if json.Unmarshal(body, &problem) == nil {
		why = string(bytes.Join([][]byte{problem.Error, problem.Detail}, nil))
	}
	return fmt.Errorf("the first prediction failed, so nothing was measured: HTTP status %d: %s", status, why)
}

// report prints what was measured. No success at all is a failure.
func (m *Measurement) report(r Report) error {
	if m.Output != "-" {
		if err := r.Write(os.Stdout); err != nil {
			return err
		}
		if terminal.IsTerminal(os.Stdout) {
			r.Draw(os.Stdout)
		}
	}
	if m.Output != "" {
		figures, err := json.MarshalIndent(r.Figures(), "", "  ")
		if err != nil {
			return err
		}
		figures = append(figures, '\n')
		if m.Output == "-" {
			_, err = os.Stdout.Write(figures)
		} else {
			err = os.WriteFile(m.Output, figures, 0o644)
		}
		if err != nil {
			return err
		}
	}
	if r.Got.Times.Count() == 0 {
		return fmt.Errorf("no prediction succeeded in %s", r.Got.Length)
	}
	return nil
}
