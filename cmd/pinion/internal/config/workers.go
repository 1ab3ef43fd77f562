package config

import (
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/process"
	"pinion/ipc"
	"pinion/pyembed/locate"
	"pinion/runtime/supervise"
)

// WorkerOptions returns the options that the workers of the server and of the local runner share.
func (s *Model) WorkerOptions(m *model.Model, python *locate.Python, sdk string,
	loaded func(ipc.Loaded),
) supervise.Options {
	return supervise.Options{
		Exe: process.RunningBinary,
		Spec: ipc.WorkerConfig{
			Python: python.Executable, LibPython: python.LibPython, SDK: sdk,
			Root: m.Dir, Ref: m.Ref, Train: m.Train, Concurrency: m.Concurrency, Ranks: s.RanksOf(m),
			Weights: s.weights, NoCUDA: s.cuda == "off", NoneDefaults: string(m.NoneDefaults),
		},
		Env:      model.WithoutSecrets(supervise.WorkerEnv(m.Env)),
		Timeouts: supervise.Timeouts{Setup: s.SetupTimeout},
		Hooks:    supervise.Hooks{OnLoaded: loaded},

		CheckRanks: s.Fleet.CheckRanks,
	}
}
