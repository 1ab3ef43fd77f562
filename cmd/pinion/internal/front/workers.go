package front

import (
	"slices"
	"strings"

	"pinion/cmd/pinion/internal/gpus"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/setuptrace"
	"pinion/ipc"
	"pinion/runtime/supervise"
)

// workers are the worker processes of a model.
type workers struct {
	plan      gpus.Plan
	fleet     *supervise.Fleet
	preloader *supervise.Preloader // nil: none was asked for
	all       []*supervise.Supervisor
	reloads   reloads
}

// makeWorkers makes the supervisors of the workers.
func (m *servedModel) makeWorkers() error {
	w := &m.workers
	sdk, err := m.server.sdk.find()
	if err != nil {
		return err
	}
	if w.plan.Warning != "" {
		m.log.Warn(w.plan.Warning)
	}
	found := m.source.found
	m.use(found)
	stored := &model.Override{Dir: found.Dir, Log: m.log, Current: m.source.current.Load}
	o := m.workerOptions(found, sdk, stored.Before(m.svc.Loaded))
	o.Preloader = m.newPreloader(o.Spec, o.Env)
	w.preloader = o.Preloader
	env := o.Env
	for i := range w.plan.Workers {
		o.Index, o.Env = i, w.withDevice(env, i)
		o.Device, _ = w.plan.Device(i)
		traced := o
		(&setuptrace.Setups{Tracer: m.server.telemetry.Tracer()}).Follow(&traced.Hooks)
		w.all = append(w.all, m.svc.Supervise(traced))
	}
	return nil
}

// workerOptions are the options of the model's workers, except for what differs between them.
func (m *servedModel) workerOptions(of *model.Model, sdk string, loaded func(ipc.Loaded)) supervise.Options {
	s := m.s
	o := s.WorkerOptions(of, m.source.python, sdk, loaded)
	o.Spec.Mode, o.Spec.NoWarmUp = of.Mode(s.Mode), s.Validation.NoWarmUp
	o.Spec.Tracing = modelTracing(m.server.s.Telemetry)
	if s.Concurrency != 0 { // the flag overrides cog.yaml
		o.Spec.Concurrency = s.Concurrency
	}
	o.Batch, o.Fleet = s.Batch.Override(), m.workers.fleet
	o.Timeouts.Hang = s.Fleet.HangTimeout
	o.Policy = supervise.Policy{
		Restart: supervise.Restart(s.Restart), Renewal: supervise.Renewal(s.Fleet.Renewal),
		SetupRetries: s.Fleet.SetupRetries, MaxRequests: s.Fleet.MaxRequests, MaxMemory: int64(s.Fleet.MaxRSS),
		Linger: true, HideSetupFailure: m.failsFast(),
	}
	o.Hooks.Prepare, o.Hooks.OnStart = m.server.sdk.keep, m.metrics.WorkerStarted
	o.Hooks.OnExit = func(c supervise.ExitCause) { m.metrics.WorkerExited(string(c)) }
	o.Hooks.OnSetup = func(st supervise.SetupStatus) {
		m.settled.Store(true)
		m.metrics.SetupEnded(st.Completed.Sub(st.Started), st.Failed)
	}
	return o
}

// withDevice gives a worker its GPUs, if it has some to itself.
func (w *workers) withDevice(env []string, i int) []string {
	device, own := w.plan.Device(i)
	if !own {
		return env
	}
	const name = "CUDA_VISIBLE_DEVICES="
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, name) })
	return append(env, name+device)
}

// run starts the workers.
func (w *workers) run() {
	if w.preloader != nil {
		w.preloader.Start()
	}
	for _, one := range w.all {
		go one.Run()
	}
}

// stop makes the workers leave, at once or when they are done. It does not wait.
func (w *workers) stop(now bool) {
	w.preloader.Close()
	for _, one := range w.all {
		if now {
			one.Kill()
		} else {
			one.Stop()
		}
	}
}

func (w *workers) kill() {
	for _, one := range w.all {
		one.Kill()
	}
}
