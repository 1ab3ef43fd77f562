package main

import (
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pinion/httpd"
	"pinion/httpd/page"
	"pinion/pyembed/locate"
	"pinion/runtime/files"
	"pinion/runtime/memory"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/runtime/service"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
	"pinion/runtime/watch"
	"pinion/runtime/webhook"
)

// front is the wired server.
type front struct {
	s        *settings
	log      *slog.Logger
	sink     *logSink // where log goes
	dir      *runDir
	image    image
	files    *files.Store
	pool     *slot.Pool
	svc      *service.Service
	metrics  *metrics.Set
	budget   *memory.Budget
	heap     atomic.Pointer[heap] // nil before the model is being set up, and where it is the user's
	webhooks *webhook.Sender
	http     *httpd.Server
	ln       net.Listener
	monitor  *httpd.Server // nil: metrics and probes have no port of their own
	watched  net.Listener  // the monitor's
	auth     *authFile     // nil: no token is wanted
	workers  []*supervise.Supervisor
	asked    chan struct{} // a token: a client asked for a shutdown
	broken   chan struct{} // closed: the first setup has failed, which is to end the server
	address  string
	model    *model
	current  atomic.Pointer[model] // as it was last read
	python   *locate.Python
	plan     gpuPlan
	fleet    *supervise.Fleet
	orphans  *supervise.Orphans
	template *supervise.Template // nil: none was asked for
	reloads  reloads
	watcher  *watch.Watcher   // of the model's folder; nil: there is none
	sdkLock  sync.Mutex       // see keepSDK
	sdk      string           // where hire found the cog package; "" after the first start
	signals  <-chan os.Signal // watched from the start: the run folder is to be removed whenever one comes
}

func newFront(s *settings, m *model, python *locate.Python, plan gpuPlan, log *slog.Logger, sink *logSink) (_ *front, err error) {
	f := &front{s: s, log: log, sink: sink, model: m, python: python, plan: plan, asked: make(chan struct{}, 1), broken: make(chan struct{})}
	if s.fleet.preload {
		if err := adoptWorkers(); err != nil {
			return nil, err
		}
	}
	f.orphans = reapOrphans()
	f.fleet = supervise.NewFleet(f.orphans)
	if limit := heedMemoryLimit(int64(s.memoryBudget)); limit > 0 {
		f.log.Debug("the front's memory has a soft limit", "bytes", limit)
	}
	f.signals = watchSignals(s.awaitExplicitShutdown)
	for _, w := range s.warnings {
		f.log.Warn(w)
	}
	if f.dir, err = makeRunDir(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = f.discard(err)
		}
	}()
	go f.dir.keepFresh()
	f.budget = newBudget(int64(s.memoryBudget))
	f.budget.SetOnFree(func() { f.giveBack(quiet) })
	f.metrics = f.newMetrics()
	f.files, err = files.New(files.Options{
		OnTransfer: f.metrics.Transfer,
		Root:       f.dir.Files(), Remake: f.dir.RemakeFiles, UserAgent: firstOf(s.userAgent, "pinion/"+version), DenyPrivate: s.denyPrivate, Logger: f.log,
		MaxFile: s.downloadSize, MaxFiles: s.downloadFiles, Timeout: s.downloadTimeout,
		DenyPrivateUploads: s.denyPrivateWebhooks,
	})
	if err != nil {
		return nil, err
	}
	f.pool = slot.NewPool(slot.Options{
		Queue: s.queue, QueueTimeout: s.queueTimeout, CancelGrace: s.cancelGrace, PredictTimeout: s.fleet.predictLimit,
		OnBatch: f.metrics.Batch,
		Spin:    mayWait(plan.workers, cores()),
	})
	f.webhooks = webhook.New(webhook.Options{
		OnDelivery: f.metrics.Webhook, Memory: f.budget,
		AuthToken: s.webhookToken, UserAgent: "pinion/" + version, Throttle: s.webhookInterval, Logger: f.log,
		DenyPrivate: s.denyPrivateWebhooks,
	})
	f.svc = service.New(service.Options{
		Pool: f.pool, Files: f.files, Logger: f.log, Queue: s.queue > 0,
		Version:    map[string]string{"pinion": version, "cog": cogVersion, "coglet": cogVersion},
		OnShutdown: f.ask,
		Webhooks:   f.webhooks,
		Observer:   observer{f.metrics},
		UploadURL:  s.uploadURL,
		Outputs:    outputChecks[s.validation.outputs],
		Keep:       predict.Retention{TTL: s.keepFor(), OnQuiet: f.becameQuiet},
		Memory:     f.budget,
		Prediction: predict.Options{History: s.streamHistory},
	})
	if s.exposure.authFile != "" {
		if f.auth, err = openAuthFile(s.exposure.authFile, f.log); err != nil {
			return nil, err
		}
	}
	public, err := s.exposure.public()
	if err != nil {
		return nil, err
	}
	lines, probes := s.access()
	f.http = httpd.New(backend{f.svc, f.preloadHealth, f.budget}, httpd.Options{
		MaxBody: s.maxBody, Logger: f.log, CogVersion: cogVersion, ModelName: m.title(), CORSOrigins: s.exposure.corsOrigins,
		Docs: page.Handler(m.title()), Metrics: f.mainMetrics(), OnRequest: f.metrics.Request, Reload: f.reloader(),
		Tokens: f.auth.tokens(), Public: public,
		AccessLines: lines, AccessProbes: probes, AccessText: s.console(), Memory: f.budget,
		NoShutdown: s.exposure.noShutdown, ShutdownFromAny: s.exposure.shutdownFrom == fromAny,
	})
	if f.watcher, err = f.newWatcher(); err != nil {
		return nil, err
	}
	if f.ln, f.address, err = listen(s.exposure.address(), s.port, portSetting{"-p", "PORT"}); err != nil {
		return nil, err
	}
	if err = f.openMonitor(); err != nil {
		return nil, err
	}
	if err = f.hire(); err != nil {
		return nil, err
	}
	f.log.Info("listening", "address", f.address, "model", m.name(), "python", python.Executable,
		"python_version", python.Version, "python_from", python.Source)
	return f, nil
}

// hire makes the supervisors of the workers.
func (f *front) hire() error {
	sdk, err := sdkDir(f.dir)
	if err != nil {
		return err
	}
	if f.image, err = ownImage(); err != nil {
		return err
	}
	if f.plan.warning != "" {
		f.log.Warn(f.plan.warning)
	}
	f.sdk = sdk
	f.use(f.model)
	spec, env := f.work(f.model, f.python, sdk)
	f.template = f.newTemplate(runningImage, spec, env)
	stored := &storedDocument{dir: f.model.Dir, log: f.log, current: f.current.Load}
	for i := range f.plan.workers {
		device, _ := f.plan.device(i)
		w := supervise.New(supervise.Options{
			Index:        i,
			Exe:          runningImage,
			Spec:         spec,
			Env:          f.withDevice(env, i),
			Device:       device,
			Restart:      supervise.Restart(f.s.restart),
			SetupTimeout: f.s.setupTimeout,
			SetupRetries: f.s.fleet.setupRetries,
			TellsFailure: f.s.development.failsFast(),
			HangTimeout:  f.s.fleet.hangTimeout,
			MaxAnswers:   f.s.fleet.maxRequests,
			MaxMemory:    int64(f.s.fleet.maxRSS),
			Renewal:      supervise.Renewal(f.s.fleet.renewal),
			Batch:        f.s.batch.override(),
			Fleet:        f.fleet,
			Template:     f.template,
			Linger:       true,
			Prepare:      f.keepSDK,
			Pool:         f.pool,
			Logger:       f.log,
			OnLoaded:     stored.first(f.svc.Loaded),
			OnStart:      f.metrics.WorkerStarted,
			OnExit:       func(v supervise.Verdict) { f.metrics.WorkerExited(string(v)) },
			OnChange:     f.svc.Changed,
			RequestOf:    f.svc.RequestOf,
		})
		f.workers = append(f.workers, w)
		f.svc.Watch(w)
	}
	return nil
}

// withoutSecrets leaves away what is for the front alone: a model, and whatever it starts, could tell it to anybody.
func withoutSecrets(env []string) []string {
	return slices.DeleteFunc(env, func(e string) bool {
		return strings.HasPrefix(e, "WEBHOOK_AUTH_TOKEN=") || strings.HasPrefix(e, "PINION_AUTH_TOKEN=")
	})
}

func (f *front) ask() {
	select {
	case f.asked <- struct{}{}:
	default:
	}
}

// discard undoes newFront.
func (f *front) discard(err error) error {
	f.closeWatcher()
	for _, ln := range []net.Listener{f.ln, f.watched} {
		if ln != nil {
			ln.Close()
		}
	}
	if f.files != nil {
		f.files.Close()
	}
	f.dir.Remove()
	return err
}

// run serves until it is told to stop; it returns the exit code.
func (f *front) run() int {
	served := make(chan error, 2)
	go func() { served <- f.http.Serve(f.ln) }()
	if f.monitor != nil {
		go func() { served <- f.monitor.Serve(f.watched) }()
	}
	if f.template != nil {
		f.template.Start()
	}
	for _, w := range f.workers {
		go w.Run()
	}
	f.heap.Store(easeHeap()) // it begins with a cycle, which is in nobody's way while a worker starts
	go f.announce()
	f.watchReload()
	f.followChanges()
	code := exitOK
	select {
	case sig := <-f.signals:
		f.log.Info("shutting down", "signal", sig.String(), "grace", f.s.grace.String())
		if !f.drain(f.s.grace) {
			code = exitInterrupted
		}
	case <-f.asked:
		f.log.Info("shutting down", "asked_by", "POST /shutdown")
		if !f.drain(0) {
			code = exitInterrupted
		}
	case err := <-served:
		f.log.Error("the server's socket failed", "error", err)
		f.dismiss(true)
		code = exitFailure
	case <-f.broken:
		why := failure(f.workers[0].Status())
		f.dismiss(true)
		defer f.tellFailure(why)
		code = exitFailure
	}
	f.clean()
	return code
}

// becameQuiet gives the memory of a busy time back, now that its predictions have been removed.
func (f *front) becameQuiet() { f.giveBack(0) }

// giveBack gives free memory back after that long. The collector does not run for every large body, and without it the memory
// of the last ones would stay.
func (f *front) giveBack(after time.Duration) {
	if h := f.heap.Load(); h != nil {
		h.restSoon(after)
	}
}

// clean removes what the server had on disk.
func (f *front) clean() {
	f.closeWatcher()
	f.closeMonitor()
	f.webhooks.Close()
	f.svc.Close()
	if err := f.files.Close(); err != nil {
		f.log.Warn("files not removed", "error", err)
	}
	if err := f.dir.Remove(); err != nil {
		f.log.Warn("run folder not removed", "folder", f.dir.Path(), "error", err)
	}
	f.log.Info("stopped")
}

// refusal is why nothing is taken in any more.
var errStopping = &predict.NotReadyError{Reason: "The server is shutting down"}

// lastWait is how long after their cancelling the last predictions may take, beyond the grace that a
// cancel itself has.
const lastWait = 5 * time.Second
