package config

import (
	"github.com/spf13/pflag"
)

// Serve is the flags and variables of 'pinion serve': those of the server, and those of the model that it serves. A
// flag overrides the variable, and the variable the default.
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
