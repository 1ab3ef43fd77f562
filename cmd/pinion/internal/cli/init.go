package cli

import (
	"os"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/process"
)

func newInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Make a new model's folder, which serves at once",
		Long: `Make a starting project in DIR (default: the current folder): cog.yaml, run.py, requirements.txt,
.dockerignore and settings for editors. What is there already is never overwritten.`,
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			return process.Failed(writeStarter(folderOf(args), os.Stdout))
		},
	}
}
