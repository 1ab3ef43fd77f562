package cli

import (
	"errors"
	"flag"

	"github.com/spf13/cobra"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/server"
)

const batchingHelp = `Gather HTTP requests into batches for workers that connect by themselves, as github.com/kemingy/batching does it: a
drop-in for that service. Workers are ventu services in socket mode, or any program that speaks the protocol.
Flags may have one dash or two.`

func newBatching() *cobra.Command {
	return &cobra.Command{
		Use:   "batching",
		Short: "Gather requests into batches for workers of github.com/kemingy/batching",
		Long:  batchingHelp + " What differs: " + version.DocsPage("how-to/batching-dropin"),
		Example: `  pinion batching
  pinion batching --batch 64 --latency 5
  pinion batching --protocol tcp --address localhost:9000`,
		// Flags with one dash are none to pflag: localFlags has them for the help.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			var s config.Batching
			flags := s.Flags()
			switch err := s.Parse(flags, args); {
			case errors.Is(err, flag.ErrHelp):
				return cmd.Help()
			case err != nil:
				return err
			}
			return server.RunBatching(&s)
		},
	}
}
