package usage

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/image"
	"pinion/cmd/pinion/internal/nearest"
)

// FlagError says what is wrong with a flag, and what would be right.
func FlagError(cmd *cobra.Command, err error) error {
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("--%s needs a value: %s", missing.GetFlag().Name, wanted(missing.GetFlag()))
	case errors.As(err, &invalid):
		return ValueError(err)
	}
	return suggestFlag(cmd, err)
}

// ValueError says what is wrong with the value that a flag was given, and what would be right.
func ValueError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	f := invalid.GetFlag()
	if form, ok := valueForms()[f.Value.Type()]; ok {
		return fmt.Errorf("--%s %q: it is %s", f.Name, invalid.GetValue(), form)
	}
	return fmt.Errorf("--%s: %w", f.Name, invalid.Unwrap())
}

// valueForms say what the values of pflag's own types look like.
func valueForms() map[string]string {
	return map[string]string{
		"bool": "true or false", "int": "a whole number", "int64": "a whole number", "float64": "a number",
		"duration": "a time with its unit, as 500ms, 30s or 1m30s",
	}
}

// wanted is the form of a flag's value.
func wanted(f *pflag.Flag) string {
	if form, ok := valueForms()[f.Value.Type()]; ok {
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
		return fmt.Errorf("%w; 'pinion help %s' lists the flags", err, cmd.Name())
	}
	return fmt.Errorf("%w; did you mean --%s?", err, best)
}

// GoFlagError names the flag that is nearest to the one at which parsing stopped, if no flag has that name.
func GoFlagError(f *flag.FlagSet, args []string, err error) error {
	name := strings.TrimLeft(args[len(args)-f.NArg()-1], "-")
	name, _, _ = strings.Cut(name, "=")
	if f.Lookup(name) != nil {
		return err
	}
	var names []string
	f.VisitAll(func(known *flag.Flag) { names = append(names, known.Name) })
	best := nearest.Within(len(name)/2, name, names)
	if best == "" {
		return fmt.Errorf("%w; 'pinion help batching' lists the flags", err)
	}
	return fmt.Errorf("%w; did you mean -%s?", err, best)
}
