package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/option"
	"pinion/runtime/service"
)

// outputChecks are the values of --validate-output.
var outputChecks = map[string]service.OutputCheck{
	"off": service.IgnoreOutputs, "warn": service.WarnOfOutputs, "error": service.RefuseOutputs,
}

// validationSettings say how the model is held to what it says of itself.
type validationSettings struct {
	outputs  string
	noWarmUp bool
}

func (s *validationSettings) bindFlags(f *pflag.FlagSet) {
	f.StringVar(&s.outputs, "validate-output", "warn", "off, warn or error: what happens to an output that the return annotation does not allow; warn logs the first (PINION_VALIDATE_OUTPUT)")
	f.BoolVar(&s.noWarmUp, "no-warm-up", false, "do not run the model's example after its setup (PINION_NO_WARM_UP)")
}

func (s *validationSettings) variables() []ourVariable {
	return []ourVariable{
		{"validate-output", "PINION_VALIDATE_OUTPUT", s.setOutputs},
		{"no-warm-up", "PINION_NO_WARM_UP", func(v string) error { return option.Bool(&s.noWarmUp, v) }},
	}
}

func (s *validationSettings) setOutputs(v string) error {
	return option.SetChoice(&s.outputs, v, "off", "warn", "error")
}

// check refuses what no flag may say.
func (s *validationSettings) check() error {
	if err := s.setOutputs(s.outputs); err != nil {
		return fmt.Errorf("--validate-output %w", err)
	}
	return nil
}
