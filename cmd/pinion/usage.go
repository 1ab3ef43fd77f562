package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// misused is an error that ends the command with exit code 2.
func misused(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

// oneFolder refuses a second argument.
func oneFolder(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("pinion %s takes one folder, not %s", cmd.Name(), strings.Join(args, ", "))
	}
	return nil
}

// noArguments refuses every argument.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("pinion %s takes no argument, not %s", cmd.Name(), strings.Join(args, ", "))
	}
	return nil
}

// flagError says what is wrong with a flag, and what would be right.
func flagError(cmd *cobra.Command, err error) error {
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("--%s needs a value: %s", missing.GetFlag().Name, wanted(missing.GetFlag()))
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		if form := wanted(f); isGoType(f) {
			return fmt.Errorf("--%s %q: it is %s", f.Name, invalid.GetValue(), form)
		}
		return fmt.Errorf("--%s: %w", f.Name, invalid.Unwrap())
	}
	return suggestFlag(cmd, err)
}

// valueForms say what the values of pflag's own types look like.
func valueForms() map[string]string {
	return map[string]string{
		"bool": "true or false", "int": "a whole number", "int64": "a whole number", "float64": "a number",
		"duration": "a time with its unit, as 500ms, 30s or 1m30s",
	}
}

func isGoType(f *pflag.Flag) bool { return valueForms()[f.Value.Type()] != "" }

// wanted is the form of a flag's value.
func wanted(f *pflag.Flag) string {
	if form, ok := valueForms()[f.Value.Type()]; ok {
		return form
	}
	_, usage := pflag.UnquoteUsage(f)
	return usage
}

// newHelp makes 'pinion help', which refuses what is no command.
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
			case len(rest) > 0:
				return fmt.Errorf("pinion %s has no command %q", about.Name(), rest[0])
			}
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			return about.Help()
		},
	}
}

// refuseShells has 'pinion completion' refuse what is no shell that it knows.
func refuseShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		c.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var shells []string
			for _, shell := range cmd.Commands() {
				shells = append(shells, shell.Name())
			}
			return fmt.Errorf("no completion for %q: the shells are %s", args[0], strings.Join(shells, ", "))
		}
	}
}

// choice checks that a value is one of those that are allowed.
func choice(v string, allowed ...string) error {
	if slices.Contains(allowed, v) {
		return nil
	}
	last := len(allowed) - 1
	return fmt.Errorf("%q: it is %s or %s", v, strings.Join(allowed[:last], ", "), allowed[last])
}

// setChoice sets one of several words.
func setChoice(to *string, v string, allowed ...string) error {
	err := choice(v, allowed...)
	if err == nil {
		*to = v
	}
	return err
}

// setBool sets a switch.
func setBool(to *bool, v string) error {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return fmt.Errorf("%q: it is true or false", v)
	}
	*to = b
	return nil
}
