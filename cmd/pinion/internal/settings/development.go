package settings

import (
	"os"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/option"
	"pinion/cmd/pinion/internal/terminal"
)

// Development are for those who work on a model. By default some of them depend on whether stderr is a terminal.
type Development struct {
	failFast option.OptionalBool
	Watch    bool
}

func (s *Development) bindFlags(f *pflag.FlagSet) {
	f.Var(&s.failFast, "fail-fast", "end with exit code 1 when the setup fails at the start (PINION_FAIL_FAST; default: on a terminal without --watch)")
	f.Lookup("fail-fast").NoOptDefVal = "true"
	f.BoolVar(&s.Watch, "watch", false, "reload the model when its source or configuration changes (PINION_WATCH)")
}

func (s *Development) variables() []Variable {
	return []Variable{
		{"fail-fast", "PINION_FAIL_FAST", s.failFast.Set},
		{"watch", "PINION_WATCH", func(v string) error { return option.Bool(&s.Watch, v) }},
	}
}

// FailsFast tells whether a setup that fails at the start ends the server. In a container it stays up, so that its health tells
// why, and with --watch, for the next change may mend it.
func (s *Development) FailsFast() bool {
	return s.failFast.Or(terminal.IsTerminal(os.Stderr) && !s.Watch)
}
