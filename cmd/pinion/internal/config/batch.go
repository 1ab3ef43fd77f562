package config

import (
	"cmp"
	"fmt"

	"github.com/spf13/pflag"

	"pinion/runtime/batch"
)

// Batch is an operator's settings for the batches of a model that forms them.
type Batch struct {
	size int    // 0 means as the model says
	wait string // "" means as the model says
}

func (s *Batch) bindFlags(f *pflag.FlagSet) {
	f.IntVar(&s.size, "batch-size", 0,
		"the largest batch of a model with @cog.batch (PINION_BATCH_SIZE; default: the model's)")
	f.StringVar(&s.wait, "batch-wait", "",
		"how long a batch that is not full waits for more while a worker is idle, as 2ms; 0: not at all; adaptive: by the load (PINION_BATCH_WAIT; default: the model's)")
}

func (s *Batch) variables(f *pflag.FlagSet) []Variable {
	return append(numbers(f, 1, "batch-size"),
		variable(f, "batch-wait", func(to pflag.Value,
			v string,
		) error {
			_, err := batch.ParseWait(v)
			return cmp.Or(err, to.Set(v))
		}))
}

func (s *Batch) check() error {
	if s.size != 0 {
		if err := (batch.Options{MaxSize: s.size}).Check(); err != nil {
			return fmt.Errorf("--batch-size: %w", err)
		}
	}
	if s.wait != "" {
		if _, err := batch.ParseWait(s.wait); err != nil {
			return fmt.Errorf("--batch-wait: %w", err)
		}
	}
	return nil
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
