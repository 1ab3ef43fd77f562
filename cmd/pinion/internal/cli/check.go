package cli

import (
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/oneshot"
	"pinion/cmd/pinion/internal/process"
	"pinion/pyembed/locate"
)

func newCheck() *cobra.Command {
	var s model.Flags
	var setUp, asJSON bool
	by := model.Reader{How: model.ReadCheck}
	cmd := &cobra.Command{
		Use:   "check [DIR]",
		Short: "Look for mistakes in a model, without serving it",
		Long: `Look for mistakes in the model in DIR (default: the current folder): in its cog.yaml, its environment and its
interface. Each mistake is printed with its place and what to do about it, and the exit code is then 1. A warning need
not be a mistake.

The model is imported, unless its import runs commands or downloads files: --execute imports it all the same. With
--setup the model is also set up, as a server does it.`,
		Example: `  pinion check
  pinion check ./ocr --setup
  pinion check --json`,
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := by.Check(); err != nil {
				return err
			}
			report, err := checkFolder(folderOf(args), checkOptions{
				Flags: s, Reader: by, SetUp: setUp, Start: startForCheck,
			})
			switch {
			case errors.Is(err, process.ErrInterrupted):
				return process.Failed(err)
			case err != nil:
				return process.Misused(err)
			}
			if err := report.Print(os.Stdout, asJSON); err != nil {
				return process.Failed(err)
			}
			if len(report.Problems) > 0 {
				return process.ExitWith(process.ExitFailure)
			}
			return nil
		},
	}
	s.BindFlags(cmd.Flags())
	by.BindFlags(cmd.Flags())
	cmd.Flags().BoolVar(&setUp, "setup", false, "set the model up too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// startForCheck starts a worker that runs the model's example after its setup, as a server's does.
func startForCheck(m *model.Model, python *locate.Python, log *slog.Logger) (*oneshot.Runner, error) {
	return newLocalRunner(m, python, m.Mode("predict"), true, log)
}
