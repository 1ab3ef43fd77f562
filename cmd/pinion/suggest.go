package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
		if d := editDistance(name, f.Name); d < distance {
			best, distance = f.Name, d
		}
	})
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
			if d := editDistance(args[0], name); d < distance && !c.Hidden {
				best, distance = name, d
			}
		}
	}
	if best == "" {
		return fmt.Errorf("unknown command %q; 'pinion help' lists the commands", args[0])
	}
	return fmt.Errorf("unknown command %q; did you mean %s?", args[0], best)
}

// editDistance is the Levenshtein distance of two short strings, in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
