package settings

import (
	"fmt"

	"github.com/spf13/pflag"
)

// Variable is one of our environment variables, and the flag that counts before it.
type Variable struct {
	Flag, Name string
	Set        func(string) error // nil: something else reads it
}

// ReadVariables sets what no flag has set. An invalid value is an error.
func ReadVariables(f *pflag.FlagSet, env func(string) string, variables []Variable) error {
	for _, o := range variables {
		v := env(o.Name)
		if v == "" || o.Set == nil || o.Flag != "" && f.Changed(o.Flag) {
			continue
		}
		if err := o.Set(v); err != nil {
			return fmt.Errorf("%s: %w", o.Name, err)
		}
	}
	return nil
}

// cogVariables reads Cog's variables. An invalid value is ignored with a warning, as Cog does.
type cogVariables struct {
	f        *pflag.FlagSet
	env      func(string) string
	warnings *[]string
}

func (c cogVariables) read(flag, name string, set func(string) error) {
	v := c.env(name)
	if v == "" || flag != "" && c.f.Changed(flag) {
		return
	}
	if err := set(v); err != nil {
		*c.warnings = append(*c.warnings, fmt.Sprintf("%s is ignored: %v", name, err))
	}
}

// FromEnvironment is what the environment says to a command that has no such flags.
func FromEnvironment(env func(string) string) (*Serve, error) {
	s := &Serve{}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.BindFlags(f)
	return s, s.FromEnvironment(f, env)
}
