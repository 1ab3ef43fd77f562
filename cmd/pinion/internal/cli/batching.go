package cli

import (
	"errors"
	"flag"
	"fmt"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/server"
)

const batchingHelp = `Gather HTTP requests into batches for workers that connect by themselves, as github.com/kemingy/batching does it: a
drop-in for that service. Workers are ventu services in socket mode, or any program that speaks the protocol.
docs/how-to/batching-dropin.md says what differs. Flags may have one dash or two.

Usage:
  pinion batching [flags]

Flags:
`

func newBatching() *cobra.Command {
	var s config.Batching
	flags := s.Flags()
	cmd := &cobra.Command{
		Use:   "batching",
		Short: "Gather requests into batches for workers of github.com/kemingy/batching",
		// Flags with one dash are none to pflag.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch err := s.Parse(flags, args); {
			case errors.Is(err, flag.ErrHelp):
				return cmd.Help()
			case err != nil:
				return err
			}
			return server.RunBatching(&s)
		},
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprint(cmd.OutOrStdout(), batchingHelp)
		flags.SetOutput(cmd.OutOrStdout())
		flags.PrintDefaults()
	})
	return cmd
}
