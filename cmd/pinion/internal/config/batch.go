package config

import (
	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/batch"
)

// Batch is an operator's settings for the batches of a model that forms them.
type Batch struct {
	size int    // 0 means as the model says
	wait string // "" means as the model says
}

func (s *Batch) settings() usertext.Settings {
	return usertext.Settings{
		{
			To: &s.size, Name: "batch-size", Min: 1, Max: batch.LargestSize, Group: usertext.GroupWorkers, Common: true,
			Help: "the largest batch of a model with @cog.batch", Default: "the model's",
		},
		{
			To: &s.wait, Name: "batch-wait", Group: usertext.GroupWorkers, Default: "the model's",
			Help: "how long a batch that is not full waits for more while a worker is idle, as 2ms; 0: not at all; adaptive: by the load",
			Parse: func(v string) (string, error) {
				_, err := batch.ParseWait(v)
				return v, err
			},
		},
	}
}

// Given returns the names of the settings that are not the model's.
func (s *Batch) Given() (flags []string) {
	if s.size != 0 {
		flags = append(flags, "--batch-size")
	}
	if s.wait != "" {
		flags = append(flags, "--batch-wait")
	}
	return flags
}

// Override returns the settings, which were checked, in the form that workers take.
func (s *Batch) Override() batch.Override {
	o := batch.Override{MaxSize: s.size}
	if wait, err := batch.ParseWait(s.wait); err == nil && s.wait != "" {
		o.MaxWait = &wait
	}
	return o
}
