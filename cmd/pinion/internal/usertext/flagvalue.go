package usertext

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// FlagValueError says what is wrong with the value that a flag was given, and what would be right.
func FlagValueError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	f := invalid.GetFlag()
	if _, is := f.Value.(*Setting); is {
		return fmt.Errorf("--%s %w", f.Name, invalid.Unwrap())
	}
	if form := FlagForm(f); form != "" {
		return fmt.Errorf("--%s %q: must be %s", f.Name, invalid.GetValue(), form)
	}
	return fmt.Errorf("--%s: %w", f.Name, invalid.Unwrap())
}

// FlagForm says what the values of a flag look like whose type is one of pflag's own; "" means it is none of them.
func FlagForm(f *pflag.Flag) string {
	return map[string]string{
		"bool": "true or false", "int": "a whole number", "int64": "a whole number", "float64": "a number",
		"duration": "a time with its unit, as 500ms, 30s or 1m30s",
	}[f.Value.Type()]
}
