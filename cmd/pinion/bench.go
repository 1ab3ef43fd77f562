package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/contain"
	"pinion/cmd/pinion/internal/interrupts"
	"pinion/cmd/pinion/internal/load"
	"pinion/cmd/pinion/internal/modelio"
	"pinion/cmd/pinion/internal/ownserver"
	"pinion/cmd/pinion/internal/terminal"
)

// benching is 'pinion bench'.
type benching struct {
	flags       modelFlags
	input       modelio.InputFlags
	connections int
	rate        float64
	length      time.Duration
	warmup      time.Duration
	output      string
	screen      *terminal.Screen
}

func newBench() *cobra.Command {
	b := &benching{}
	cmd := &cobra.Command{
		Use:   "bench [DIR|URL] [-- FLAG...]",
		Short: "Measure a model, or a server that runs",
		Long: `Ask the server at URL for predictions, or serve the model in DIR (default: the current folder) for as long as it takes,
and print how many it answers a second and how long that takes. What follows -- are flags of 'pinion serve'.

Each connection asks again as soon as it is answered. With --rate requests leave by the clock instead: a server that falls
behind then pays for it, as it does when its users do not wait for each other.

The input is made of the schema's examples, and of values of the right types. -i and --json give another, as to 'pinion predict'.`,
		Example: "  pinion bench\n  pinion bench http://localhost:5000 -c 64 -i prompt=\"a cat\"\n  pinion bench --rate 500 -d 30s -- --workers 2",
		RunE: func(cmd *cobra.Command, args []string) error {
			var flags []string
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				args, flags = args[:n], args[n:]
			}
			if err := b.check(args, flags); err != nil {
				return err
			}
			b.input.IsSet = cmd.Flags().Changed("json")
			if b.rate > 0 && !cmd.Flags().Changed("connections") {
				b.connections = 256
			}
			b.screen = terminal.NewScreen(os.Stderr)
			defer b.screen.Hide()
			return failed(b.run(folderOf(args), flags))
		},
	}
	b.flags.bindFlags(cmd.Flags())
	b.input.BindFlags(cmd.Flags())
	f := cmd.Flags()
	f.Lookup("json").Usage = "the whole input: a JSON object, @file, or - for stdin"
	f.IntVarP(&b.connections, "connections", "c", 8, "connections; with --rate at most so many (then default: 256)")
	f.Float64Var(&b.rate, "rate", 0, "requests a second, by the clock (default: as many as are answered)")
	f.DurationVarP(&b.length, "duration", "d", 10*time.Second, "how long")
	f.DurationVar(&b.warmup, "warmup", time.Second, "how long before, which does not count")
	f.StringVarP(&b.output, "output", "o", "", "a file for the figures as JSON; - for stdout, instead of the table")
	return cmd
}

func (b *benching) check(args, flags []string) error {
	switch {
	case len(args) > 1:
		return fmt.Errorf("%d folders or URLs: one is measured at a time", len(args))
	case len(args) == 1 && isHTTP(args[0]) && len(flags) > 0:
		return errors.New("the server at a URL has its flags: leave out what follows --")
	case len(args) == 1 && !isHTTP(args[0]) && strings.Contains(args[0], "://"):
		return fmt.Errorf("%s: a server's address is an http or https URL", args[0])
	case b.connections < 1:
		return fmt.Errorf("--connections %d: it is at least 1", b.connections)
	case b.rate < 0:
		return fmt.Errorf("--rate %g: it is more than 0", b.rate)
	case b.length <= 0:
		return fmt.Errorf("--duration %s: it is more than 0", b.length)
	case b.warmup < 0:
		return fmt.Errorf("--warmup %s: it is at least 0", b.warmup)
	}
	return nil
}

// run measures what is at a URL, or its own server.
func (b *benching) run(target string, flags []string) error {
	signals := interrupts.Watch(false)
	stop := make(chan struct{})
	go func() {
		<-signals
		close(stop)
		<-signals // a second signal does not wait for the last answers
		os.Exit(exitInterrupted)
	}()
	if isHTTP(target) {
		return b.measure(strings.TrimRight(target, "/"), stop)
	}
	b.screen.Show("setting the model up")
	s, err := ownserver.Start(b.serveArguments(target, flags), stop)
	switch {
	case errors.Is(err, contain.ErrInterrupted):
		return &exitError{code: exitInterrupted}
	case errors.Is(err, ownserver.ErrUsage):
		return misused(err)
	case err != nil:
		return err
	}
	defer s.Stop()
	return b.measure(s.Address, stop)
}

// serveArguments are those of the server that this command starts. Its queue holds a prediction of every connection, without a
// time limit: a full queue would be measured as errors.
func (b *benching) serveArguments(dir string, flags []string) []string {
	args := []string{"serve", dir, "--host", "127.0.0.1", "--port", "0", "--log-level", "info", "--log-format", "json",
		"--queue", fmt.Sprint(b.connections), "--queue-timeout", "1h"}
	for flag, value := range map[string]string{"--predictor": b.flags.predictor, "--python": b.flags.python, "--libpython": b.flags.libPython,
		"--none-defaults": string(b.flags.noneDefaults)} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	return append(args, flags...)
}

// measure finds the input, tries it once, and measures.
func (b *benching) measure(base string, stop <-chan struct{}) error {
	b.screen.Show("reading the schema")
	document, err := clientOf(base).Document()
	if err != nil {
		return err
	}
	f, err := modelio.ReadFields(document, false)
	if err != nil {
		return err
	}
	var input []byte
	if len(b.input.Pairs) == 0 && !b.input.IsSet {
		input, err = f.Sample()
	} else {
		input, err = b.input.Read(f, os.Stdin)
	}
	if err != nil {
		return misused(err)
	}
	o := load.Options{
		URL: base + "/predictions", Body: append(append([]byte(`{"input":`), input...), '}'), UserAgent: "pinion/" + version,
		Connections: b.connections, Rate: b.rate, Warmup: b.warmup, Length: b.length, Stop: stop,
	}
	if err := try(o); err != nil {
		return err
	}
	b.screen.Show("measuring")
	r := load.Run(o)
	b.screen.Hide()
	return b.report(load.Report{Target: base, Input: input, Asked: o, Got: r})
}

// try asks once: an input that does not do would be measured for nothing.
func try(o load.Options) error {
	status, body, err := load.Once(o)
	if err != nil {
		return err
	}
	_, failure := load.Read(body)
	if status == 200 && failure == "" {
		return nil
	}
	var said struct{ Error, Detail json.RawMessage }
	why := string(body)
	if json.Unmarshal(body, &said) == nil {
		why = string(bytes.Join([][]byte{said.Error, said.Detail}, nil))
	}
	return fmt.Errorf("the first prediction does not succeed, so nothing was measured: HTTP status %d: %s", status, why)
}

// report prints what was measured. No success at all is a failure.
func (b *benching) report(r load.Report) error {
	if b.output != "-" {
		r.Write(os.Stdout)
		if terminal.IsTerminal(os.Stdout) {
			r.Draw(os.Stdout)
		}
	}
	if b.output != "" {
		figures, err := json.MarshalIndent(r.Figures(), "", "  ")
		if err != nil {
			return err
		}
		figures = append(figures, '\n')
		if b.output == "-" {
			_, err = os.Stdout.Write(figures)
		} else {
			err = os.WriteFile(b.output, figures, 0o644)
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
