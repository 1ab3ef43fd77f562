package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pinion/runtime/nearest"
)

// NoCommand refuses what is not a command, and names the nearest one.
func noCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
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

// NewHelp makes 'pinion help', which refuses what is not a command.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil:
				return err
			case len(rest) > 0 && about == cmd.Root():
				return noCommand(about, rest)
			case len(rest) == 1 && rest[0] == "all" && about.Name() == "serve":
			case len(rest) > 0:
				return fmt.Errorf("pinion %s has no command %q", about.Name(), rest[0])
			}
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			printHelp(about, rest)
			return nil
		},
	}
}

// RefuseShells has 'pinion completion' refuse what is not a shell that it knows.
func refuseShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		describeShells(c)
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		c.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var shells []string
			for _, shell := range cmd.Commands() {
				shells = append(shells, shell.Name())
			}
			return fmt.Errorf("unknown shell %q: must be one of %s", args[0], strings.Join(shells, ", "))
		}
	}
}

// describeShells says how a shell of Linux loads its script; cobra's texts are for macOS too.
func describeShells(completion *cobra.Command) {
	completion.Short = "Print the script by which a shell completes pinion's commands, flags and inputs"
	completion.Long = completion.Short + "."
	completion.Example = "  source <(pinion completion bash)\n  source <(pinion completion zsh)\n" +
		"  pinion completion fish | source"
	for _, c := range completion.Commands() {
		lines := map[string]string{
			"bash": "  source <(pinion completion bash)\n" +
				"  pinion completion bash > ~/.local/share/bash-completion/completions/pinion",
			"fish": "  pinion completion fish | source\n  pinion completion fish > ~/.config/fish/completions/pinion.fish",
			"zsh":  "  source <(pinion completion zsh)\n  pinion completion zsh > \"${fpath[1]}/_pinion\"",
		}[c.Name()]
		if lines == "" {
			continue
		}
		needs := map[string]string{
			"bash": " It needs the package bash-completion.",
			"zsh":  " It needs 'autoload -U compinit; compinit' in ~/.zshrc, above it.",
		}[c.Name()]
		c.Short = "Print the script for " + c.Name()
		c.Long = c.Short + "." + needs + " The first command loads it into this shell, the second for every new one."
		c.Example = lines
	}
}

func oneFolder(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("pinion %s takes one folder, not %s", cmd.Name(), strings.Join(args, ", "))
	}
	return nil
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("pinion %s takes no argument, not %s", cmd.Name(), strings.Join(args, ", "))
	}
	return nil
}
