package cli

import (
	"io"

	"github.com/spf13/cobra"
)

const shortHelp = `Pinion serves a Python machine-learning model over HTTP, with Cog's prediction API.

  pinion init DIR             make a new model's folder, which serves at once
  pinion serve [DIR]          serve the model of a folder on port 5000
  pinion predict -i name=...  make one prediction, without a server

'pinion help' lists all commands, 'pinion help COMMAND' explains one.
`

const longHelp = `Pinion serves a Python machine-learning model over HTTP, with Cog's prediction API.`

const rootExamples = `  pinion init greeter && cd greeter
  pinion predict -i name=Ada
  pinion serve`

func newRoot() *cobra.Command {
	asked := false // for the version
	root := &cobra.Command{
		Use:                        "pinion",
		Short:                      "Serve a Python model over HTTP",
		Long:                       longHelp,
		Example:                    rootExamples,
		SilenceUsage:               true,
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
		Args:                       noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := shortHelp
			if asked {
				text = versions()
			}
			_, err := io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	// Not cobra's own flag: its template would bring text/template along, which keeps the linker from leaving out
	// unused methods, a quarter of the binary.
	root.Flags().BoolVarP(&asked, "version", "v", false, "print the versions that matter in a bug report")
	root.SetOut(nil)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(printHelp)
	root.SetHelpCommand(newHelp())
	root.AddCommand(newServe(), newPredict(), newTrain(), newSchema(), newCheck(), newBench(), newInit(), newPython(),
		newDockerfile(), newBuild(), newDoctor(), newWeights(), newBatching(), newJobs(), newGateway(), newPS(),
		newStop(), newLogs(), newVersion(), newMan())
	refuseShells(root)
	if isCompleting() {
		completeValues(root)
	}
	return root
}
