package main

import (
	"github.com/spf13/cobra"
)

const shortHelp = `Pinion serves a Python machine-learning model over HTTP, with Cog's prediction API.

  pinion serve            serve the model of this folder on port 5000
  pinion serve DIR -p 0   serve another folder, on a free port
  pinion version          what to put into a bug report

'pinion help COMMAND' tells the rest.
`

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:                        "pinion",
		Short:                      "Serve a Python model over HTTP",
		SilenceUsage:               true,
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
		Args:                       cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.Print(shortHelp)
			return nil
		},
	}
	root.SetOut(nil)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return suggestFlag(cmd, err)
	})
	root.AddCommand(newServe(), newVersion())
	return root
}
