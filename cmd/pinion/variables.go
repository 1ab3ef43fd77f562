package main

import (
	"fmt"

	"github.com/spf13/pflag"
)

// ourVariable is one of our environment variables, and the flag that counts before it.
type ourVariable struct {
	flag, name string
	set        func(string) error // nil: something else reads it
}

// readVariables sets what no flag has set. An invalid value is an error.
func readVariables(f *pflag.FlagSet, env func(string) string, variables []ourVariable) error {
	for _, o := range variables {
		v := env(o.name)
		if v == "" || o.set == nil || o.flag != "" && f.Changed(o.flag) {
			continue
		}
		if err := o.set(v); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	return nil
}
