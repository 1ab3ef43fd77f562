package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/logging"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/process"
	"pinion/pyembed/locate"
)

// Run runs a command line and returns the exit code.
func Run(args []string) int {
	root := newRoot()
	root.SetArgs(joinWords(twoDashes(args)))
	cmd, failure := execute(root, args)
	code, err := process.ExitCode(failure)
	if err != nil {
		// As for the log: a stderr without a reader must not keep the process from its exit code.
		stderr := logging.Open(int(os.Stderr.Fd()), logging.BufferSize)
		fmt.Fprintln(stderr, "pinion: "+err.Error())
		if page := pageAbout(err); page != "" {
			fmt.Fprintln(stderr, "See "+page)
		} else if code == process.ExitUsage && !strings.Contains(err.Error(), "\nSee ") { // a server that bench started
			fmt.Fprintln(stderr, "See "+version.DocsPage(usagePage(cmd)))
		}
		stderr.Flush(logging.FlushTimeout)
	}
	return code
}

// execute runs the command that the arguments name. A misspelt command is reported before its flags, which may be those
// of another command.
func execute(root *cobra.Command, args []string) (*cobra.Command, error) {
	if len(args) > 0 && slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == args[0] }) {
		return root.ExecuteC()
	}
	root.InitDefaultHelpCmd()
	cmd, rest, err := root.Find(args)
	if err == nil && cmd == root && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && !isCompleting() {
		return root, noCommand(root, rest)
	}
	return root.ExecuteC()
}

// usagePage returns the page of a command that was used wrongly.
func usagePage(cmd *cobra.Command) string {
	if cmd == cmd.Root() {
		return "reference/cli"
	}
	return docsOf(cmd)
}

// pageAbout returns the page of the documents about what an error advises; "" means they have none.
func pageAbout(err error) string {
	if _, ok := errors.AsType[*locate.Error](err); ok {
		return version.DocsPage("tutorial/quickstart") + "#which-python"
	}
	if _, ok := errors.AsType[*model.NoPredictorError](err); ok {
		return version.DocsPage("tutorial/quickstart") + "#serve-your-own-model"
	}
	if _, ok := errors.AsType[*model.ProblemsError](err); ok {
		return version.DocsPage("how-to/troubleshooting")
	}
	if _, ok := errors.AsType[*config.FileError](err); ok {
		return version.DocsPage("how-to/several-models")
	}
	return ""
}

// joinWords makes one word of a flag and its value where Cog's server takes the value as the next word, and a flag of
// ours, which needs none, does not.
func joinWords(args []string) []string {
	var joined []string
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--await-explicit-shutdown" && i+1 < len(args) {
			if _, err := strconv.ParseBool(args[i+1]); err == nil {
				i++
				word += "=" + args[i]
			}
		}
		joined = append(joined, word)
	}
	return joined
}
