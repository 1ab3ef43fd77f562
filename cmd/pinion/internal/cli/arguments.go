package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pinion/runtime/nearest"
)

// noCommand refuses what is not a command, and names the nearest one.
func noCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if advice := commandsOfOthers()[args[0]]; advice != "" {
		return fmt.Errorf("pinion has no command %q: %s", args[0], advice)
	}
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	best := nearest.Within(len(args[0])/2, args[0], names)
	if best == "" {
		return fmt.Errorf("unknown command %q; 'pinion help' lists the commands", args[0])
	}
	return fmt.Errorf("unknown command %q; did you mean %s?", args[0], best)
}

// noSubcommand refuses an argument of a command that only has commands.
func noSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	if best := nearest.Within(len(args[0])/2, args[0], names); best != "" {
		return fmt.Errorf("%s has no command %q; did you mean %s?", "pinion "+cmd.Name(), args[0], best)
	}
	return fmt.Errorf("%s has no command %q: it has %s", "pinion "+cmd.Name(), args[0], strings.Join(names, ", "))
}

// commandsOfOthers says what to type for commands that other servers have.
func commandsOfOthers() map[string]string {
	const fetch = "it serves a folder; 'pinion init --template chat NAME' makes one, and its weights may be a URL in cog.yaml"
	return map[string]string{
		"push": "'pinion build -t NAME' makes the image, and 'docker push NAME' sends it",
		"chat": "'pinion serve DIR', and the page at /docs is a chat where the model is one",
		"pull": fetch, "create": fetch, "list": "'pinion ps' lists the servers", "start": "type 'pinion serve DIR'",
	}
}

// newHelp makes 'pinion help', which refuses what is not a command.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			switch {
			case slices.Equal(rest, []string{"all"}) && about == cmd.Root():
				return errors.New("'pinion help' lists all commands, and 'pinion serve --help all' all flags of pinion serve")
			case err != nil:
				return err
			case len(rest) > 0 && about == cmd.Root():
				return noCommand(about, rest)
			case len(rest) == 1 && rest[0] == "all" && about.Name() == "serve":
			case len(rest) > 0 && about.HasSubCommands():
				return about.ValidateArgs(rest)
			case len(rest) > 0:
				return fmt.Errorf("%s has no command %q", about.CommandPath(), rest[0])
			}
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			printHelp(about, rest)
			return nil
		},
	}
}

func oneFolder(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one folder, not %s", cmd.CommandPath(), strings.Join(args, ", "))
	}
	return nil
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument, not %s", cmd.CommandPath(), strings.Join(args, ", "))
	}
	return nil
}
