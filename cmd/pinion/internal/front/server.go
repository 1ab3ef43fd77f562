package front

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pinion/cmd/pinion/internal/exit"
	"pinion/cmd/pinion/internal/heap"
	"pinion/cmd/pinion/internal/limits"
	"pinion/cmd/pinion/internal/logsink"
	"pinion/cmd/pinion/internal/ownbinary"
	"pinion/cmd/pinion/internal/rundir"
	"pinion/cmd/pinion/internal/settings"
	"pinion/cmd/pinion/internal/tokenfile"
	"pinion/pyembed/nvml"
	"pinion/runtime/files"
	"pinion/runtime/memory"
	"pinion/runtime/metrics"
	"pinion/runtime/supervise"
	"pinion/runtime/telemetry"
	"pinion/runtime/webhook"
)

// Server is the wired server of 'pinion serve': what the process has once, and its models.
type Server struct {
	s         *settings.Server
	log       *slog.Logger
	sink      *logsink.Sink        // where log goes
	telemetry *telemetry.Telemetry // nil: it is off
	dir       *rundir.Dir
	sdk       sdkFolder
	image     ownbinary.Image
	budget    *memory.Budget
	files     *files.Store
	webhooks  *webhook.Sender
	heap      atomic.Pointer[heap.Heap] // nil before the models are being set up, and where it is the user's
	gpus      *nvml.Sampler
	auth      *tokenfile.File // nil: no token is wanted
	metrics   *metrics.Set    // of the server; with one model, the model's too
	orphans   *supervise.Orphans
	endpoints endpoints
	stop      *stop
	readyFile sync.Once      // of Kubernetes, where there are several models
	models    []*servedModel // the first one is the default
}

// New wires the server and opens its sockets. Nothing is served yet.
func New(s *settings.Server, models []Model, log *slog.Logger, sink *logsink.Sink) (_ *Server, err error) {
	f := &Server{s: s, log: log, sink: sink}
	if slices.ContainsFunc(models, func(m Model) bool { return m.Settings.Fleet.Preload }) {
		if err := supervise.AdoptForks(); err != nil {
			return nil, fmt.Errorf("--preload: %w", err)
		}
	}
	f.orphans = supervise.ReapOrphans()
	if limit := limits.ApplyMemory(int64(s.MemoryBudget)); limit > 0 {
		f.log.Debug("the front's memory has a soft limit", "bytes", limit)
	}
	f.stop = newStop(s.AwaitExplicitShutdown)
	for _, w := range s.Warnings {
		f.log.Warn(w)
	}
	if f.dir, err = rundir.Make(); err != nil {
		return nil, err
	}
	f.sdk.run = f.dir
	go f.dir.KeepFresh()
	f.budget = limits.NewBudget(int64(s.MemoryBudget))
	f.budget.SetOnFree(func() { f.giveBack(heap.QuietTime) })
	f.gpus = nvml.New(nvml.Options{})
	if err := f.wire(models); err != nil {
		f.discard()
		return nil, err
	}
	f.logStart()
	return f, nil
}

// wire makes the parts of the server, in the order in which they need each other.
func (f *Server) wire(models []Model) error {
	if err := f.beginTelemetry(); err != nil {
		return err
	}
	for _, m := range models {
		f.models = append(f.models, f.newModel(m, len(models) > 1))
	}
	f.makeMetrics()
	for _, step := range []func() error{
		f.openFiles, f.makeWebhooks, f.eachModel((*servedModel).makeService), f.openTokens, f.makeHTTP,
		f.eachModel((*servedModel).joinQueue), f.eachModel((*servedModel).watchFolder),
		f.listen, f.openMonitor, f.openGRPC, f.findImage, f.eachModel((*servedModel).makeWorkers), f.sendMetrics,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// eachModel makes a step of all models.
func (f *Server) eachModel(step func(*servedModel) error) func() error {
	return func() error {
		for _, m := range f.models {
			if err := step(m); err != nil {
				return err
			}
		}
		return nil
	}
}

// several reports whether the server has more than one model. Then the model's name is in metrics and logs.
func (f *Server) several() bool { return len(f.models) > 1 }

// logStart logs where the server listens and what it serves.
func (f *Server) logStart() {
	about := func(m *servedModel) []any {
		p := m.source.python
		return []any{"python", p.Executable, "python_version", p.Version, "python_from", p.Source}
	}
	if !f.several() {
		f.log.Info("listening", append([]any{"address", f.endpoints.address, "model", f.models[0].source.found.Name()}, about(f.models[0])...)...)
		return
	}
	f.log.Info("listening", "address", f.endpoints.address)
	for _, m := range f.models {
		m.log.Info("serving", append([]any{"folder", m.source.found.Dir}, about(m)...)...)
	}
}

func (f *Server) findImage() (err error) {
	f.image, err = ownbinary.Find()
	return err
}

// discard undoes New.
func (f *Server) discard() {
	for _, m := range f.models {
		m.discard()
	}
	f.endpoints.discard()
	if f.files != nil {
		f.files.Close()
	}
	f.telemetry.Stop()
	f.dir.Remove()
}

// Run serves until the server stops; it returns the exit code.
func (f *Server) Run() int {
	served := f.endpoints.serve()
	for _, m := range f.models {
		m.workers.run()
	}
	f.heap.Store(heap.New()) // it begins with a collection, which disturbs nothing while a worker starts
	f.watchReload()
	for _, m := range f.models {
		go m.announce()
		m.followChanges()
	}
	code := exit.OK
	select {
	case sig := <-f.stop.signals:
		f.log.Info("shutting down", "signal", sig.String(), "grace", f.s.Grace.String())
		if !f.drain(f.s.Grace) {
			code = exit.Interrupted
		}
	case <-f.stop.asked:
		f.log.Info("shutting down", "asked_by", "POST /shutdown")
		if !f.drain(0) {
			code = exit.Interrupted
		}
	case err := <-served:
		f.log.Error("the server's socket failed", "error", err)
		f.stopWorkers(true)
		code = exit.Failure
	case m := <-f.stop.broken:
		why := failure(m.workers.all[0].Status())
		f.stopWorkers(true)
		defer m.reportFailure(why)
		code = exit.Failure
	}
	f.clean()
	return code
}

// becameQuiet gives the memory of a busy time back, now that its predictions have been removed.
func (f *Server) becameQuiet() { f.giveBack(0) }

// giveBack gives free memory back after that long. The collector does not run for every large body, and without it the memory
// of the last ones would stay.
func (f *Server) giveBack(after time.Duration) {
	if h := f.heap.Load(); h != nil {
		h.ReleaseSoon(after)
	}
}

// clean removes what the server had on disk.
func (f *Server) clean() {
	f.closeMonitor()
	for _, m := range f.models {
		m.close()
	}
	f.webhooks.Close()
	for _, m := range f.models {
		m.svc.Close()
	}
	if err := f.files.Close(); err != nil {
		f.log.Warn("files not removed", "error", err)
	}
	if err := f.dir.Remove(); err != nil {
		f.log.Warn("run folder not removed", "folder", f.dir.Path(), "error", err)
	}
	f.log.Info("stopped")
	f.telemetry.Stop()
}
