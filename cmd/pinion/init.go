package main

import (
	"os"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/starter"
	"pinion/cmd/pinion/internal/usage"
)

func newInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Make a new model's folder, which serves at once",
		Long: `Make a starting project in DIR (default: the current folder): cog.yaml, run.py, requirements.txt,
.dockerignore and settings for editors. What is there already is never overwritten.`,
		Args: usage.OneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			return process.Failed(starter.Write(folderOf(args), os.Stdout))
		},
	}
}
