package modelhost

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pinion/cmd/pinion/internal/model"
	"pinion/ipc"
	"pinion/runtime/gpu"
	"pinion/runtime/supervise"
	"pinion/runtime/telemetry"
	"pinion/runtime/weights"
)

// workers are the worker processes of a model.
type workers struct {
	plan    gpu.Plan
	reloads reloads
	// lastExit is the cause of the last exit; nil means there was none.
	lastExit atomic.Pointer[supervise.ExitCause]

	mu  sync.Mutex
	set workerSet
}

// workerSet is the workers of one load of the model; the zero set means that it is not loaded.
type workerSet struct {
	preloader   *supervise.Preloader // nil means none was asked for
	supervisors []*supervise.Supervisor
}

// current returns the workers of the current load.
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

// startWorkers starts the workers of a load; read is the model as it is now.
func (m *Model) startWorkers(read *model.Model) error {
	sdk, err := m.host.sdk.find()
	if err != nil {
		return err
	}
	if m.workers.plan.Warning != "" {
		m.Log.Warn(m.workers.plan.Warning)
	}
	m.use(read)
	if err := m.weights.Begin(read); err != nil {
		return err
	}
	m.workers.lastExit.Store(nil)
	stored := &model.Override{Dir: read.Dir, Log: m.Log, Current: m.source.current.Load}
	o := m.workerOptions(read, sdk, m.checkBatches(stored.Before(m.Service.Loaded)))
	o.Fleet = supervise.NewFleet(m.host.o.Orphans)
	kept := m.workers.current().preloader
	if kept != nil && !kept.Fits(o.Spec) {
		m.dropSetup()
		kept = nil
	}
	if o.Preloader = kept; kept == nil {
		o.Preloader = m.newPreloader(o.Spec, o.Env)
	}
	set := workerSet{preloader: o.Preloader}
	env := o.Env
	for i := range m.workers.plan.Workers {
		o.Index, o.Env = i, m.workers.withDevice(env, i)
		o.Device, _ = m.workers.plan.Device(i)
		o.Hooks.OnMethodBatches = func(of ipc.MethodBatches) { m.methodBatches(i, of) }
		traced := o
		(&setupTrace{tracer: m.host.o.Tracer, model: m.label()}).follow(&traced.Hooks)
		set.supervisors = append(set.supervisors, m.Service.Supervise(traced))
	}
	m.workers.replace(set)
	set.run()
	return nil
}

// workerOptions returns the options of the model's workers, except for what differs between them.
func (m *Model) workerOptions(of *model.Model, sdk string, loaded func(ipc.Loaded)) supervise.Options {
	s := m.s
	o := s.WorkerOptions(of, m.source.python, sdk, loaded)
	o.Spec.Mode, o.Spec.NoWarmUp = of.Mode(s.Mode), s.NoWarmUp
	o.Spec.Tracing = tracing(m.host.o.Config.Telemetry, of)
	if m.host.o.Several {
		o.Spec.Calls = m.host.o.RunDir.Files()
	}
	if s.Concurrency != 0 { // the flag overrides cog.yaml
		o.Spec.Concurrency = s.Concurrency
	}
	o.Batch = s.Batch.Override()
	o.Timeouts.Hang, o.Timeouts.SetupFrom = s.Fleet.HangTimeout, m.weights.There
	o.Policy = supervise.Policy{
		Restart: supervise.Restart(s.Fleet.Restart), Renewal: supervise.Renewal(s.Fleet.Renewal),
		SetupRetries: s.Fleet.SetupRetries, MaxRequests: s.Fleet.MaxRequests, MaxMemory: int64(s.Fleet.MaxRSS),
		Linger: true, HideSetupFailure: m.FailsFast(),
	}
	o.Hooks.Prepare, o.Hooks.OnStart = m.prepareWorker, m.metrics.WorkerStarted
	o.Hooks.OnExit = func(c supervise.ExitCause) {
		m.workers.lastExit.Store(&c)
		m.metrics.WorkerExited(string(c))
	}
	o.Hooks.OnSetup = func(st supervise.SetupStatus) { m.metrics.SetupEnded(st.Completed.Sub(st.Started), st.Failed) }
	return o
}

// prepareWorker provides what a worker needs that is about to start.
func (m *Model) prepareWorker(spec *ipc.WorkerConfig) error {
	if err := m.host.sdk.keep(spec); err != nil {
		return err
	}
	return m.weights.Prepare(spec)
}

// weightsEnded logs how a fetch of weights has ended that took part of the start.
func (m *Model) weightsEnded(run *weights.Run) {
	if err := run.Err(); err != nil {
		return // the setup fails with it
	}
	p := run.Progress()
	m.Log.Info("weights are there", "files", p.Files, "bytes", p.Done)
	m.Service.Changed()
}

// checkBatches returns a callback for workers that have loaded the model: it logs once which settings of batches have no
// effect, and calls next.
func (m *Model) checkBatches(next func(ipc.Loaded)) func(ipc.Loaded) {
	given := m.s.Batch.Given()
	if len(given) == 0 {
		return next
	}
	warn := sync.OnceFunc(func() {
		for _, flag := range given {
			m.Log.Warn(flag + " has no effect: the model's predict function has no @cog.batch")
		}
	})
	return func(l ipc.Loaded) {
		if l.Batch == nil {
			warn()
		}
		next(l)
	}
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

// dropSetup ends the preload process that an unloaded model has kept, if there is one, and waits for its end.
func (m *Model) dropSetup() {
	set := m.workers.current()
	if set.preloader == nil || set.supervisors != nil {
		return
	}
	m.workers.replace(workerSet{})
	set.stop(false)
	set.wait()
}

func (w workerSet) run() {
	if w.preloader != nil {
		w.preloader.Start()
	}
	for _, worker := range w.supervisors {
		go worker.Run()
	}
}

// stop makes the workers exit, at once or when they have finished. It does not wait.
func (w workerSet) stop(now bool) {
	if now {
		w.preloader.Kill()
	} else {
		w.preloader.Close()
	}
	for _, worker := range w.supervisors {
		if now {
			worker.Kill()
		} else {
			worker.Stop()
		}
	}
}

func (w workerSet) kill() {
	w.preloader.Kill()
	for _, worker := range w.supervisors {
		worker.Kill()
	}
}

// wait returns when the workers are gone.
func (w workerSet) wait() {
	for _, worker := range w.supervisors {
		<-worker.Done()
	}
	w.preloader.Wait()
}

// tracing returns the settings of traces for the workers of a model; nil if traces are off. The hooks are a file of the
// model's folder.
func tracing(c *telemetry.Config, of *model.Model) *ipc.Tracing {
	if c.Traces == nil {
		return nil
	}
	return &ipc.Tracing{
		Endpoint: c.Traces.URL, GRPC: c.Traces.GRPC, Sampler: c.Sampler, Service: c.Service,
		Hooks: telemetry.Hooks(of.Getenv, of.Observability),
	}
}

// Workers returns the workers of the current load.
func (m *Model) Workers() []*supervise.Supervisor { return m.workers.current().supervisors }

// Preloader returns the preload process of the current load; nil means none was asked for.
func (m *Model) Preloader() *supervise.Preloader { return m.workers.current().preloader }

// StopWorkers makes the workers exit, at once or when they have finished, and loads no more. It does not wait.
func (m *Model) StopWorkers(now bool) {
	m.Lifecycle.Close()
	m.workers.current().stop(now)
}

// KillWorkers kills them. It does not wait.
func (m *Model) KillWorkers() { m.workers.current().kill() }

// WaitWorkers returns when the workers are gone.
func (m *Model) WaitWorkers() {
	m.workers.current().wait()
	m.weights.Close()
}

// OutOfMemory reports whether the model lacked memory when it was loaded last: the kernel ended a worker for that, or
// the setup raised Python's exception for it, or that of a GPU's library.
func (m *Model) OutOfMemory() bool {
	if cause := m.workers.lastExit.Load(); cause != nil && *cause == supervise.CauseOutOfMemory {
		return true
	}
	exception, _, _ := strings.Cut(m.Failure().What, ":")
	return exception == "MemoryError" || exception[strings.LastIndexByte(exception, '.')+1:] == "OutOfMemoryError"
}

// Failure returns why the model cannot be set up, as 'pinion check' says it.
func (m *Model) Failure() model.Problem {
	workers := m.Workers()
	if len(workers) == 0 {
		return model.Problem{What: "no worker could be started", Fix: "the server's log says why"}
	}
	st := workers[0].Status()
	if st.Setup.Problem != nil {
		return model.Problem(*st.Setup.Problem)
	}
	return model.Problem{What: st.LastExit, Fix: "what the model printed stands above"}
}
