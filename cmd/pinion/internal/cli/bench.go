package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/loadgen"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/oneshot"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/cmd/pinion/internal/usertext"
)

// benchCommand is 'pinion bench'.
type benchCommand struct {
	loadgen.Measurement
	flags model.Flags
}

func newBench() *cobra.Command {
	b := &benchCommand{}
	cmd := &cobra.Command{
		Use:   "bench [DIR|URL] [flags] [-- FLAG...]",
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
			b.Input.IsSet = cmd.Flags().Changed("json")
			if b.Load.Rate > 0 && !cmd.Flags().Changed("connections") {
				b.Load.Connections = 256
			}
			b.Screen = terminal.NewScreen(os.Stderr)
			defer b.Screen.Hide()
			return process.Failed(b.start(folderOf(args), flags))
		},
	}
	b.flags.BindFlags(cmd.Flags())
	b.Input.BindFlags(cmd.Flags())
	if isCompleting() {
		completeInputs(cmd, &b.flags, false, new(string))
	}
	f := cmd.Flags()
	f.Lookup("json").Usage = "the whole input: a JSON object, @file, or - for stdin"
	f.IntVarP(&b.Load.Connections, "connections", "c", 8,
		"connections; with --rate the most that are opened (then default: 256)")
	f.Float64Var(&b.Load.Rate, "rate", 0, "requests a second at a fixed rate (default: as many as are answered)")
	f.DurationVarP(&b.Load.Length, "duration", "d", 10*time.Second, "how long")
	f.DurationVar(&b.Load.Warmup, "warmup", time.Second, "how long it sends requests before it measures")
	f.StringVarP(&b.Output, "output", "o", "", "a file for the figures as JSON; - for stdout, instead of the table")
	return cmd
}

func (b *benchCommand) check(args, flags []string) error {
	switch {
	case len(args) > 1:
		return fmt.Errorf("got %d folders or URLs: must be one", len(args))
	case len(args) == 1 && usertext.IsHTTP(args[0]) && len(flags) > 0:
		return errors.New("flags after -- are for the server that bench starts: leave them out with a URL")
	case len(args) == 1 && !usertext.IsHTTP(args[0]) && strings.Contains(args[0], "://"):
		return fmt.Errorf("invalid URL %s: must begin with http:// or https://", args[0])
	case b.Load.Connections < 1:
		return fmt.Errorf("--connections %d: must be at least 1", b.Load.Connections)
	case b.Load.Rate < 0:
		return fmt.Errorf("--rate %g: must be more than 0", b.Load.Rate)
	case b.Load.Length <= 0:
		return fmt.Errorf("--duration %s: must be more than 0", b.Load.Length)
	case b.Load.Warmup < 0:
		return fmt.Errorf("--warmup %s: must be at least 0", b.Load.Warmup)
	}
	return nil
}

// start measures what is at a URL, or its own server.
func (b *benchCommand) start(target string, flags []string) error {
	signals := process.WatchInterrupts(false)
	stop := make(chan struct{})
	go func() {
		<-signals
		close(stop)
		<-signals // a second signal does not wait for the last answers
		os.Exit(process.ExitInterrupted)
	}()
	if usertext.IsHTTP(target) {
		return b.Run(clientOf(target), stop)
	}
	b.Screen.Show("setting the model up")
	s, err := oneshot.StartServer(b.serveArguments(target, flags), stop)
	if err != nil {
		return err
	}
	defer s.Stop()
	return b.Run(clientOf(s.Address), stop)
}

// serveArguments returns the arguments of the server that this command starts. Its queue holds a prediction of every
// connection, without a time limit: a full queue would be measured as errors.
func (b *benchCommand) serveArguments(dir string, flags []string) []string {
	args := []string{
		"serve", dir, "--host", "127.0.0.1", "--port", "0", "--log-level", "info", "--log-format", "json",
		"--queue", fmt.Sprint(b.Load.Connections), "--queue-timeout", "1h",
	}
	for flag, value := range map[string]string{
		"--predictor": b.flags.Predictor, "--python": b.flags.Python,
		"--libpython":     b.flags.LibPython,
		"--none-defaults": string(b.flags.NoneDefaults),
	} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	return append(args, flags...)
}
