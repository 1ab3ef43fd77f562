package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/image"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/nearest"
)

// flagError says what is wrong with a flag, and what would be right.
func flagError(cmd *cobra.Command, err error) error {
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("--%s needs a value: %s", missing.GetFlag().Name, wanted(missing.GetFlag()))
	case errors.As(err, &invalid):
		return usertext.FlagValueError(err)
	}
	return suggestFlag(cmd, err)
}

// wanted returns the form of a flag's value.
func wanted(f *pflag.Flag) string {
	if form := usertext.FlagForm(f); form != "" {
		return form
	}
	_, usage := pflag.UnquoteUsage(f)
	return usage
}

// suggestFlag names the flag that is nearest to a misspelt one.
func suggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := unknown.GetSpecifiedName()
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	best := nearest.Within(len(name)/2, name, names)
	if cmd.Name() == "build" && slices.Contains(image.BuilderOptions(), name) {
		return fmt.Errorf("%w; options of the builder stand after --, as in: pinion build -t NAME -- --%s", err, name)
	}
	if best == "" {
		if cmd == cmd.Root() {
			return fmt.Errorf("%w; 'pinion help' lists the commands", err)
		}
		return fmt.Errorf("%w; '%s --help' lists the flags", err, cmd.CommandPath())
	}
	return fmt.Errorf("%w; did you mean --%s?", err, best)
}
