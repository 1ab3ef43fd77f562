package config

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/usertext"
)

// Values of --load: when a model is loaded.
const (
	AtStartup = "startup"
	OnDemand  = "on-demand" // by the first request
	Manual    = "manual"    // by POST /models/{name}/load
)

// Loading says when a model has processes.
type Loading struct {
	When        string
	IdleTimeout time.Duration  // without requests, until it is unloaded; 0 means never
	Memory      usertext.Bytes // what it needs; 0 means what it had when it was last loaded
}

func (s *Loading) bindFlags(f *pflag.FlagSet) {
	f.StringVar(&s.When, "load", AtStartup,
		"startup, on-demand (by the first request) or manual (by POST /models/{name}/load): when the model is loaded (PINION_LOAD)")
	f.DurationVar(&s.IdleTimeout, "idle-timeout", 0,
		"end the processes of a model that has had no request for this time; 0: never (PINION_IDLE_TIMEOUT)")
}

// bindKeys declares the keys that only the file may have: on the command line they would apply to every model.
func (s *Loading) bindKeys(f *pflag.FlagSet) {
	f.Var(&s.Memory, "memory", "the memory that the model needs, as 2GiB (default: what it had when it was last loaded)")
}

func (s *Loading) variables(f *pflag.FlagSet) []Variable {
	return append(variablesOf(f, "idle-timeout"), choice(f, "load", AtStartup, OnDemand, Manual))
}

func (s *Loading) check() error {
	if err := usertext.CheckChoice(s.When, AtStartup, OnDemand, Manual); err != nil {
		return fmt.Errorf("--load %w", err)
	}
	return notNegative("idle-timeout", s.IdleTimeout)
}
