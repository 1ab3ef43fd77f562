package config

import (
	"slices"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/usertext"
)

// Serve is the settings of 'pinion serve': those of the server, and those of the model that it serves. A flag overrides the
// variable, and the variable the default.
type Serve struct {
	Server
	Model
}

func (s *Serve) BindFlags(f *pflag.FlagSet) {
	s.Server.BindFlags(f)
	s.Model.BindFlags(f)
}

// FromEnvironment fills what no flag has set. An invalid value of one of Pinion's variables is an error.
func (s *Serve) FromEnvironment(f *pflag.FlagSet, env func(string) string) error {
	if err := s.Server.FromEnvironment(f, env); err != nil {
		return err
	}
	if err := s.Model.FromEnvironment(f, env); err != nil {
		return err
	}
	return s.Jobs.check(s.ResultTTL)
}

// FromEnvironment returns what the environment says to a command that has no such flags.
func FromEnvironment(env func(string) string) (*Serve, error) {
	s := &Serve{}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.BindFlags(f)
	return s, s.FromEnvironment(f, env)
}

// Table returns the settings of 'pinion serve'.
func Table() usertext.Settings {
	s, unused := &Serve{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	s.BindFlags(unused)
	return slices.Concat(s.Server.list, s.Model.list)
}
