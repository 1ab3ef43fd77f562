package server

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/logging"
	"pinion/cmd/pinion/internal/modelhost"
	"pinion/cmd/pinion/internal/ports"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/resources"
	"pinion/httpd/place"
	"pinion/runtime/connlimit"
	"pinion/runtime/files"
	"pinion/runtime/gpu/nvml"
	"pinion/runtime/memory"
	"pinion/runtime/metrics"
	"pinion/runtime/supervise"
	"pinion/runtime/telemetry"
	"pinion/runtime/webhook"
)

// Server is the wired server of 'pinion serve': what the process has once, and its models.
type Server struct {
	s   *config.Server
	log *slog.Logger
	// setupBegan is when the first setup began, for setupLog; 0 means it has ended.
	setupBegan  atomic.Int64
	sink        *logging.Sink        // where log goes
	telemetry   *telemetry.Telemetry // nil means it is off
	sentry      *logging.Reporter    // nil means it is off
	dir         *process.RunDir
	budget      *memory.Budget
	copies      *memory.Budget // of requests, for mirrors
	files       *files.Store
	webhooks    *webhook.Sender
	heap        atomic.Pointer[resources.Heap] // nil before the models are being set up, and where it is the user's
	gpus        *nvml.Sampler
	auth        *ports.TokenFile   // nil means no token is wanted
	certificate *ports.Certificate // nil means no TLS
	metrics     *metrics.Set       // of the server; with one model, the model's too
	orphans     *supervise.Orphans
	endpoints   endpoints
	// connections bounds those of all endpoints together.
	connections *connlimit.Limit
	stop        *stop
	readyFile   sync.Once // of Kubernetes, where there are several models
	several     bool      // the models' names are in metrics and logs
	models      models
	host        *modelhost.Host
	read        Reader
	embedded    embeddedQueues
}

// Reader reads models while the server runs.
type Reader struct {
	File   func() (*config.Models, error)               // the file of models again, or nil
	Folder func(name, dir string) (config.Named, error) // a model that a client adds; nil means none does
}

// New wires the server and opens its sockets. Nothing is served yet.
func New(s *config.Server, models []config.Named, read Reader, log *slog.Logger, sink *logging.Sink) (_ *Server,
	err error,
) {
	f := &Server{
		s: s, log: log, sink: sink, several: len(models) > 1 || read.File != nil || read.Folder != nil,
		read: read,
	}
	if s.WantsUsageHint() && drawsDrafts(log) {
		f.log = slog.New(setupLog{log.Handler(), &f.setupBegan})
	}
	if f.orphans, err = supervise.AdoptOrphans(); err != nil {
		return nil, err
	}
	if limit := resources.ApplyMemoryLimit(int64(s.MemoryBudget)); limit > 0 {
		f.log.Debug("the front's memory has a soft limit", "bytes", limit)
	}
	resources.ReserveThreads()
	f.stop = newStop(s.AwaitExplicitShutdown)
	for _, w := range s.Warnings {
		f.log.Warn(w)
	}
	if f.dir, err = process.MakeRunDir(); err != nil {
		return nil, err
	}
	go f.dir.KeepFresh()
	f.budget = resources.NewBudget(int64(s.MemoryBudget))
	f.copies = f.budget.Beside(8)
	f.budget.SetOnFree(func() { f.giveBack(resources.HeapQuietTime) })
	f.connections = connlimit.New(resources.ConnectionLimit())
	f.gpus = nvml.New(nvml.Options{})
	if err := f.wire(models); err != nil {
		f.discard()
		return nil, err
	}
	f.logStart()
	f.describe()
	return f, nil
}

// describe says in the run folder what the server is, for 'pinion ps' and others.
func (f *Server) describe() {
	models := []process.ModelInfo{}
	for _, m := range f.models.all() {
		models = append(models, process.ModelInfo{Name: m.Name, Folder: m.of.Found.Dir})
	}
	address, _ := ports.Reachable(f.endpoints.address)
	if err := f.dir.Describe(address, models); err != nil {
		f.log.Warn("pinion ps does not list this server", "error", err)
	}
}

// wire makes the parts of the server, in the order in which they need each other.
func (f *Server) wire(models []config.Named) error {
	if err := f.beginTelemetry(); err != nil {
		return err
	}
	var served []*servedModel
	for _, of := range models {
		served = append(served, &servedModel{server: f, of: of})
	}
	f.models.replace(served)
	f.makeMetrics()
	for _, step := range []func() error{
		f.openFiles, f.makeWebhooks, f.openTokens, f.hostModels, f.joinQueues, f.route, f.makeHTTP,
		f.listen, f.openMonitor, f.openGRPC, f.sendMetrics,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// logStart logs where the server listens and what it serves.
func (f *Server) logStart() {
	about := func(m *servedModel) []any {
		p := m.of.Python
		return []any{"python", p.Executable, "python_version", p.Version, "python_from", p.Source}
	}
	if !f.several {
		f.log.Info("listening", append([]any{"address", f.endpoints.address, "model", f.models.first().of.Found.Name()},
			about(f.models.first())...)...)
		return
	}
	f.log.Info("listening", "address", f.endpoints.address)
	if f.models.first() == nil {
		f.log.Info(place.ErrNoModel.Reason)
	}
	for _, m := range f.models.all() {
		m.Log.Info("serving", append([]any{"folder", m.of.Found.Dir}, about(m)...)...)
	}
}

// discard undoes New.
func (f *Server) discard() {
	for _, m := range f.models.all() {
		m.close()
	}
	f.endpoints.discard()
	if f.files != nil {
		f.files.Close()
	}
	f.sentry.Stop()
	f.telemetry.Stop()
	_ = f.dir.Remove() // the next server removes what is left
}

// Run serves until the server stops. The error has the command's exit code.
func (f *Server) Run() error {
	for _, m := range f.models.all() {
		m.begin()
	}
	served := f.endpoints.serve()
	f.heap.Store(resources.NewHeap()) // it begins with a collection, which disturbs nothing while a worker starts
	f.watchReload()
	code, refused := process.ExitOK, error(nil)
	select {
	case sig := <-f.stop.signals:
		f.log.Info("shutting down", "signal", sig.String(), "grace", f.s.Grace.String())
		if !f.drain(f.s.Grace) {
			code = process.ExitInterrupted
		}
	case <-f.stop.asked:
		f.log.Info("shutting down", "asked_by", "POST /shutdown")
		if !f.drain(0) {
			code = process.ExitInterrupted
		}
	case err := <-served:
		f.log.Error("the server's socket failed", "error", err)
		f.stopWorkers(true, nil)
		code = process.ExitFailure
	case refused = <-f.stop.refused:
		f.stopWorkers(true, nil)
	case m := <-f.stop.broken:
		why := m.Failure()
		f.sentry.Report("setup failed", why.What)
		f.stopWorkers(true, nil)
		defer m.reportFailure(why)
		code = process.ExitFailure
	}
	f.clean()
	switch {
	case refused != nil:
		return process.Failed(refused)
	case code != process.ExitOK:
		return process.ExitWith(code)
	}
	return nil
}

// giveBack gives free memory back after that long. The collector does not run for every large body, and without it the
// memory of the last ones would stay.
func (f *Server) giveBack(after time.Duration) {
	if h := f.heap.Load(); h != nil {
		h.ReleaseSoon(after)
	}
}

// clean removes what the server had on disk.
func (f *Server) clean() {
	f.closeMonitor()
	for _, m := range f.models.every() {
		m.close()
	}
	f.webhooks.Close()
	for _, m := range f.models.every() {
		m.Service.Close()
	}
	if err := f.files.Close(); err != nil {
		f.log.Warn("files not removed", "error", err)
	}
	if err := f.dir.Remove(); err != nil {
		f.log.Warn("run folder not removed", "folder", f.dir.Path(), "error", err)
	}
	f.orphans.KillLeft()
	f.log.Info("stopped")
	f.sentry.Stop()
	f.telemetry.Stop()
}
