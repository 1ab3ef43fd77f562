package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/pyembed/locate"
)

func newDoctor() *cobra.Command {
	var python string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor [DIR]",
		Short: "Say what of a folder made for Cog would behave differently",
		Long: `Look at the folder DIR (default: the current one), made for Cog, and print what would behave differently here: keys of
cog.yaml, packages, and lines of the source, each with its place and what to do. Nothing of the model is run. The exit
code is 1 where something keeps the model from being served or built.`,
		Example: `  pinion doctor
  pinion doctor ./ocr
  pinion doctor --json`,
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := filepath.Abs(folderOf(args))
			if err != nil {
				return process.Failed(err)
			}
			if err := model.CheckFolder(dir); err != nil {
				return process.Misused(err)
			}
			interpreter, err := locate.Interpreter(locate.Options{Python: python, Dir: dir})
			if err != nil {
				fmt.Fprintf(os.Stderr, "note: no Python here reads the source, so only cog.yaml and the requirements are looked at\n    %v\n", err)
				interpreter = nil
			}
			report, err := examine(dir, interpreter)
			if err != nil {
				return process.Failed(err)
			}
			if err := report.Print(os.Stdout, dir, asJSON); err != nil {
				return process.Failed(err)
			}
			if len(report.Problems) > 0 {
				return process.ExitWith(process.ExitFailure)
			}
			return nil
		},
	}
	usertext.Settings{model.PythonSetting(&python)}.Bind(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}
