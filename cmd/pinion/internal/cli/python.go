package cli

import (
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/process"
	"pinion/pyembed/locate"
)

func newPython() *cobra.Command {
	return &cobra.Command{
		Use:   "python [ARGUMENT...]",
		Short: "Run the model's Python, with the cog package that serving gives it",
		Long: `Run the Python that would serve the model of the current folder, with all arguments, and with the server's cog
package in front of what is installed. PINION_PYTHON names another Python.`,
		Example: `  pinion python
  pinion python -m pytest
  pinion python -c 'from run import Runner; r = Runner(); r.setup(); print(r.run(name="Ada", times=2))'`,
		DisableFlagsInUseLine: true,
		DisableFlagParsing:    true, // they are Python's
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (args[0] == "--help" || args[0] == "-h") {
				return cmd.Help()
			}
			return execPython(args)
		},
	}
}

// execPython replaces this process by Python.
func execPython(args []string) error {
	var flags model.Flags
	python, err := locate.Interpreter(flags.Locate("."))
	if err != nil {
		return process.Misused(err)
	}
	sdk, err := process.CachedSDKFolder()
	if err != nil {
		return process.Failed(fmt.Errorf("write the cog package: %w", err))
	}
	if others := os.Getenv("PYTHONPATH"); others != "" {
		sdk += ":" + others
	}
	if err := os.Setenv("PYTHONPATH", sdk); err != nil {
		return process.Failed(err)
	}
	err = syscall.Exec(python.Executable, append([]string{python.Executable}, args...), os.Environ())
	return process.Failed(fmt.Errorf("start %s: %w", python.Executable, err))
}
