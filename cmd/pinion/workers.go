package main

import (
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/ownbinary"
	"pinion/ipc"
	"pinion/pyembed/locate"
	"pinion/runtime/supervise"
)

// workerOptions are the options that the workers of the server and of the local runner share.
func workerOptions(m *model.Model, python *locate.Python, sdk string, s *settings, loaded func(ipc.Loaded)) supervise.Options {
	return supervise.Options{
		Exe: ownbinary.Running,
		Spec: ipc.WorkerConfig{
			Python: python.Executable, LibPython: python.LibPython, SDK: sdk,
			Root: m.Dir, Ref: m.Ref, Train: m.Train, Concurrency: m.Concurrency,
			Weights: s.weights, NoCUDA: s.noCUDA, NoneDefaults: string(m.NoneDefaults),
		},
		Env:      model.WithoutSecrets(supervise.WorkerEnv(m.Env)),
		Timeouts: supervise.Timeouts{Setup: s.setupTimeout},
		Hooks:    supervise.Hooks{OnLoaded: loaded},
	}
}

// workerOptions are the options of the server's workers, except for what differs between them.
func (f *front) workerOptions(m *model.Model, sdk string, loaded func(ipc.Loaded)) supervise.Options {
	o := workerOptions(m, f.python, sdk, f.s, loaded)
	o.Spec.Mode, o.Spec.NoWarmUp = m.Mode(f.s.mode), f.s.validation.noWarmUp
	o.Spec.Tracing = modelTracing(f.s.telemetry)
	if f.s.concurrency != 0 { // the flag overrides cog.yaml
		o.Spec.Concurrency = f.s.concurrency
	}
	o.Batch, o.Fleet = f.s.batch.override(), f.fleet
	o.Timeouts.Hang = f.s.fleet.hangTimeout
	o.Policy = supervise.Policy{
		Restart: supervise.Restart(f.s.restart), Renewal: supervise.Renewal(f.s.fleet.renewal),
		SetupRetries: f.s.fleet.setupRetries, MaxRequests: f.s.fleet.maxRequests, MaxMemory: int64(f.s.fleet.maxRSS),
		Linger: true, HideSetupFailure: f.s.development.failsFast(),
	}
	o.Hooks.Prepare, o.Hooks.OnStart = f.keepSDK, f.metrics.WorkerStarted
	o.Hooks.OnExit = func(c supervise.ExitCause) { f.metrics.WorkerExited(string(c)) }
	o.Hooks.OnSetup = func(st supervise.SetupStatus) { f.metrics.SetupEnded(st.Completed.Sub(st.Started), st.Failed) }
	return o
}
