package cli

import (
	"cmp"
	"log/slog"
	"os"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/oneshot"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/ipc"
	"pinion/pyembed/locate"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
)

// newLocalRunner starts a worker for a model; mode is "predict" or "train"; warmUp runs its example after its setup.
// The caller closes the runner.
func newLocalRunner(m *model.Model, python *locate.Python, mode string, warmUp bool,
	log *slog.Logger,
) (*oneshot.Runner, error) {
	s, err := config.FromEnvironment(m.Getenv)
	if err != nil {
		return nil, process.Misused(err)
	}
	debugs := terminal.IsTerminal(os.Stdin) && terminal.IsTerminal(os.Stderr)
	if debugs { // who thinks at a breakpoint is not too late
		s.SetupTimeout, s.Fleet.PredictLimit = 0, 0
	}
	stored := &model.Override{Dir: m.Dir, Log: log, Current: func() *model.Model { return m }}
	fetch := &model.Fetch{Log: log, Timeout: s.WeightsTimeout}
	return oneshot.NewRunner(oneshot.RunnerOptions{
		Begin: func(folder string) error {
			fetch.Below = func() string { return folder }
			return fetch.Begin(m)
		},
		End: fetch.Close,
		Worker: func(sdk string, loaded func(ipc.Loaded)) supervise.Options {
			o := s.WorkerOptions(m, python, sdk, stored.Before(loaded))
			o.Spec.Mode, o.Spec.NoWarmUp, o.Spec.Terminal = mode, !warmUp, debugs
			o.Hooks.Prepare, o.Timeouts.SetupFrom = fetch.Prepare, fetch.There
			return o
		},
		Pool:      slot.Options{CancelGrace: s.CancelGrace, PredictTimeout: s.Fleet.PredictLimit},
		UserAgent: cmp.Or(s.UserAgent, "pinion/"+version.Pinion),
		Log:       log,
	})
}
