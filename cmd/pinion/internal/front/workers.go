package front

import (
	"pinion/cmd/pinion/internal/model"
	"pinion/ipc"
	"pinion/runtime/supervise"
)

// workerOptions are the options of the server's workers, except for what differs between them.
func (f *Server) workerOptions(m *model.Model, sdk string, loaded func(ipc.Loaded)) supervise.Options {
	o := f.s.WorkerOptions(m, f.python, sdk, loaded)
	o.Spec.Mode, o.Spec.NoWarmUp = m.Mode(f.s.Mode), f.s.Validation.NoWarmUp
	o.Spec.Tracing = modelTracing(f.s.Telemetry)
	if f.s.Concurrency != 0 { // the flag overrides cog.yaml
		o.Spec.Concurrency = f.s.Concurrency
	}
	o.Batch, o.Fleet = f.s.Batch.Override(), f.fleet
	o.Timeouts.Hang = f.s.Fleet.HangTimeout
	o.Policy = supervise.Policy{
		Restart: supervise.Restart(f.s.Restart), Renewal: supervise.Renewal(f.s.Fleet.Renewal),
		SetupRetries: f.s.Fleet.SetupRetries, MaxRequests: f.s.Fleet.MaxRequests, MaxMemory: int64(f.s.Fleet.MaxRSS),
		Linger: true, HideSetupFailure: f.s.FailsFast(f.s.Watch),
	}
	o.Hooks.Prepare, o.Hooks.OnStart = f.keepSDK, f.metrics.WorkerStarted
	o.Hooks.OnExit = func(c supervise.ExitCause) { f.metrics.WorkerExited(string(c)) }
	o.Hooks.OnSetup = func(st supervise.SetupStatus) { f.metrics.SetupEnded(st.Completed.Sub(st.Started), st.Failed) }
	return o
}
