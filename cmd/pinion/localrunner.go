package main

import (
	"cmp"
	"log/slog"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/exit"
	"pinion/cmd/pinion/internal/localrunner"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/version"
	"pinion/ipc"
	"pinion/pyembed/locate"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
)

// newLocalRunner starts a worker for a model; mode is "predict" or "train"; warmUp has its example run after its setup. The
// caller closes the runner.
func newLocalRunner(m *model.Model, python *locate.Python, mode string, warmUp bool, log *slog.Logger) (*localrunner.Runner, error) {
	s, err := settingsFromEnvironment(m.Getenv)
	if err != nil {
		return nil, exit.Misused(err)
	}
	stored := &model.Override{Dir: m.Dir, Log: log, Current: func() *model.Model { return m }}
	return localrunner.New(localrunner.Options{
		Worker: func(sdk string, loaded func(ipc.Loaded)) supervise.Options {
			o := workerOptions(m, python, sdk, s, stored.Before(loaded))
			o.Spec.Mode, o.Spec.NoWarmUp = mode, !warmUp
			return o
		},
		Pool:      slot.Options{CancelGrace: s.cancelGrace, PredictTimeout: s.fleet.predictLimit},
		UserAgent: cmp.Or(s.userAgent, "pinion/"+version.Pinion),
		Log:       log,
	})
}

// settingsFromEnvironment is what the environment says to a command that has no such flags.
func settingsFromEnvironment(env func(string) string) (*settings, error) {
	s := &settings{}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.bindFlags(f)
	return s, s.fromEnvironment(f, env)
}
