package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/builder"
	"pinion/cmd/pinion/internal/nearest"
)

// suggestFlag names the flag that is nearest to a misspelt one.
func suggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := unknown.GetSpecifiedName()
	best, distance := "", len(name)/2+1
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if d := nearest.Distance(name, f.Name); d < distance {
			best, distance = f.Name, d
		}
	})
	if cmd.Name() == "build" && slices.Contains(builder.Options(), name) {
		return fmt.Errorf("%w; options of the builder stand after --, as in: pinion build -t NAME -- --%s", err, name)
	}
	if best == "" {
		if cmd == cmd.Root() {
			return fmt.Errorf("%w; 'pinion help' lists the commands", err)
		}
		return fmt.Errorf("%w; 'pinion help %s' lists the flags", err, cmd.Name())
	}
	return fmt.Errorf("%w; did you mean --%s?", err, best)
}

// noCommand refuses what is no command, and names the nearest one.
func noCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	best, distance := "", len(args[0])/2+1
	for _, c := range root.Commands() {
		for _, name := range append([]string{c.Name()}, c.Aliases...) {
			if d := nearest.Distance(args[0], name); d < distance && !c.Hidden {
				best, distance = name, d
			}
		}
	}
	if best == "" {
		return fmt.Errorf("unknown command %q; 'pinion help' lists the commands", args[0])
	}
	return fmt.Errorf("unknown command %q; did you mean %s?", args[0], best)
}
