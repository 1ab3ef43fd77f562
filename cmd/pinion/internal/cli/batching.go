package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/batching"
	"pinion/cmd/pinion/internal/config"
)

const batchingHelp = `Gather HTTP requests into batches for workers that connect by themselves, as github.com/kemingy/batching does it: a
drop-in for that service. Workers are ventu services in socket mode, or any program that speaks the protocol.
Flags may have one dash or two.`

func newBatching() *cobra.Command {
	var s config.Batching
	cmd := &cobra.Command{
		Use:   "batching",
		Short: "Gather requests into batches for workers of github.com/kemingy/batching",
		Long:  batchingHelp + " What differs: " + version.DocsPage("how-to/batching-dropin"),
		Example: `  pinion batching
  pinion batching --batch 64 --latency 5
  pinion batching --protocol tcp --address localhost:9000`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return batching.Run(&s) },
	}
	s.BindFlags(cmd.Flags())
	return cmd
}

// twoDashes gives the flags of 'pinion batching' a second dash, which the service that it replaces does without.
func twoDashes(args []string) []string {
	if len(args) == 0 || args[0] != "batching" {
		return args
	}
	args = slices.Clone(args)
	for i, word := range args {
		if len(word) > 2 && word[0] == '-' && 'a' <= word[1] && word[1] <= 'z' {
			args[i] = "-" + word
		}
	}
	return args
}
