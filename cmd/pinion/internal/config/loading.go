package config

import (
	"time"

	"pinion/cmd/pinion/internal/usertext"
)

// When a model is loaded.
const (
	AtStartup = "startup"
	OnDemand  = "on-demand" // by the first request
	Manual    = "manual"    // by POST /models/{name}/load
)

// Loading says when a model is loaded and unloaded.
type Loading struct {
	When        string
	IdleTimeout time.Duration  // without requests, until it is unloaded; 0 means never
	Memory      usertext.Bytes // what it needs; 0 means what it had when it was last loaded
}

func (s *Loading) settings() usertext.Settings {
	return usertext.Settings{
		{
			To: &s.When, Name: "load", Init: AtStartup, Words: []string{AtStartup, OnDemand, Manual}, Group: usertext.GroupWorkers,
			Help: "startup, on-demand (by the first request) or manual (by POST /models/{name}/load): when the model is loaded",
		},
		{
			To: &s.IdleTimeout, Name: "idle-timeout", Group: usertext.GroupWorkers,
			Help: "end the processes of a model that has had no request for this time; 0: never",
		},
	}
}

// keys returns the settings that only one of several models can have, in the file of --config.
func (s *Loading) keys() usertext.Settings {
	return usertext.Settings{{
		To: &s.Memory, Name: keyMemory, Variable: usertext.NoVariable,
		Help: "the memory that the model needs, as 2GiB", Default: "what it had when it was last loaded",
	}}
}
