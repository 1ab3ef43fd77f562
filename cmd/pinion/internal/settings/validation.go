package settings

import (
	"fmt"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/option"
	"pinion/runtime/service"
)

// OutputChecks are the values of --validate-output.
var OutputChecks = map[string]service.OutputCheck{
	"off": service.IgnoreOutputs, "warn": service.WarnOfOutputs, "error": service.RefuseOutputs,
}

// Validation say how the model is held to what it says of itself.
type Validation struct {
	Outputs  string
	NoWarmUp bool
}

func (s *Validation) bindFlags(f *pflag.FlagSet) {
	f.StringVar(&s.Outputs, "validate-output", "warn", "off, warn or error: what happens to an output that the return annotation does not allow; warn logs the first (PINION_VALIDATE_OUTPUT)")
	f.BoolVar(&s.NoWarmUp, "no-warm-up", false, "do not run the model's example after its setup (PINION_NO_WARM_UP)")
}

func (s *Validation) variables(f *pflag.FlagSet) []Variable {
	return append(variablesOf(f, "no-warm-up"), choice(f, "validate-output", "off", "warn", "error"))
}

// check refuses what no flag may say.
func (s *Validation) check() error {
	if err := option.Choice(s.Outputs, "off", "warn", "error"); err != nil {
		return fmt.Errorf("--validate-output %w", err)
	}
	return nil
}
