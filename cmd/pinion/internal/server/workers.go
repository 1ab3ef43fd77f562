package server

import (
	"slices"
	"strings"
	"sync"

	"pinion/cmd/pinion/internal/model"
	"pinion/ipc"
	"pinion/runtime/gpu"
	"pinion/runtime/supervise"
)

// workers are the worker processes of a model.
type workers struct {
	plan    gpu.Plan
	reloads reloads

	mu  sync.Mutex
	set workerSet
}

// workerSet is the workers of one load of the model; the zero set: it is not loaded.
type workerSet struct {
	preloader *supervise.Preloader // nil: none was asked for
	all       []*supervise.Supervisor
}

// current returns the workers of the load of now.
func (w *workers) current() workerSet {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.set
}

func (w *workers) replace(set workerSet) {
	w.mu.Lock()
	w.set = set
	w.mu.Unlock()
}

// startWorkers starts the workers of a load, of the model as it is read now.
func (m *servedModel) startWorkers(read *model.Model) error {
	sdk, err := m.server.sdk.find()
	if err != nil {
		return err
	}
	if m.workers.plan.Warning != "" {
		m.log.Warn(m.workers.plan.Warning)
	}
	m.use(read)
	stored := &model.Override{Dir: read.Dir, Log: m.log, Current: m.source.current.Load}
	o := m.workerOptions(read, sdk, stored.Before(m.svc.Loaded))
	o.Fleet = supervise.NewFleet(m.server.orphans)
	o.Preloader = m.newPreloader(o.Spec, o.Env)
	set := workerSet{preloader: o.Preloader}
	env := o.Env
	for i := range m.workers.plan.Workers {
		o.Index, o.Env = i, m.workers.withDevice(env, i)
		o.Device, _ = m.workers.plan.Device(i)
		traced := o
		(&setupTrace{tracer: m.server.telemetry.Tracer(), model: m.label()}).follow(&traced.Hooks)
		set.all = append(set.all, m.svc.Supervise(traced))
	}
	m.workers.replace(set)
	set.run()
	return nil
}

// workerOptions are the options of the model's workers, except for what differs between them.
func (m *servedModel) workerOptions(of *model.Model, sdk string, loaded func(ipc.Loaded)) supervise.Options {
	s := m.s
	o := s.WorkerOptions(of, m.source.python, sdk, loaded)
	o.Spec.Mode, o.Spec.NoWarmUp = of.Mode(s.Mode), s.NoWarmUp
	o.Spec.Tracing = modelTracing(m.server.s.Telemetry, of)
	if m.server.several {
		o.Spec.Calls = m.server.dir.Files()
	}
	if s.Concurrency != 0 { // the flag overrides cog.yaml
		o.Spec.Concurrency = s.Concurrency
	}
	o.Batch = s.Batch.Override()
	o.Timeouts.Hang = s.Fleet.HangTimeout
	o.Policy = supervise.Policy{
		Restart: supervise.Restart(s.Restart), Renewal: supervise.Renewal(s.Fleet.Renewal),
		SetupRetries: s.Fleet.SetupRetries, MaxRequests: s.Fleet.MaxRequests, MaxMemory: int64(s.Fleet.MaxRSS),
		Linger: true, HideSetupFailure: m.failsFast(),
	}
	o.Hooks.Prepare, o.Hooks.OnStart = m.server.sdk.keep, m.metrics.WorkerStarted
	o.Hooks.OnExit = func(c supervise.ExitCause) { m.metrics.WorkerExited(string(c)) }
	o.Hooks.OnSetup = func(st supervise.SetupStatus) { m.metrics.SetupEnded(st.Completed.Sub(st.Started), st.Failed) }
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

func (w workerSet) run() {
	if w.preloader != nil {
		w.preloader.Start()
	}
	for _, one := range w.all {
		go one.Run()
	}
}

// stop makes the workers leave, at once or when they are done. It does not wait.
func (w workerSet) stop(now bool) {
	w.preloader.Close()
	for _, one := range w.all {
		if now {
			one.Kill()
		} else {
			one.Stop()
		}
	}
}

func (w workerSet) kill() {
	for _, one := range w.all {
		one.Kill()
	}
}

// wait returns when the workers are gone.
func (w workerSet) wait() {
	for _, one := range w.all {
		<-one.Done()
	}
	w.preloader.Wait()
}
