package front

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"pinion/cmd/pinion/internal/exit"
	"pinion/cmd/pinion/internal/gpus"
	"pinion/cmd/pinion/internal/heap"
	"pinion/cmd/pinion/internal/interrupts"
	"pinion/cmd/pinion/internal/limits"
	"pinion/cmd/pinion/internal/logsink"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/ownbinary"
	"pinion/cmd/pinion/internal/rundir"
	"pinion/cmd/pinion/internal/settings"
	"pinion/cmd/pinion/internal/tokenfile"
	"pinion/httpd"
	"pinion/httpd/dashboard"
	"pinion/httpd/protocol"
	"pinion/pyembed/locate"
	"pinion/pyembed/nvml"
	"pinion/runtime/files"
	"pinion/runtime/memory"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
	"pinion/runtime/queued"
	"pinion/runtime/service"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
	"pinion/runtime/telemetry"
	"pinion/runtime/trace"
	"pinion/runtime/watch"
	"pinion/runtime/webhook"
)

// Server is the wired server of 'pinion serve'.
type Server struct {
	s         *settings.Serve
	log       *slog.Logger
	sink      *logsink.Sink // where log goes
	dir       *rundir.Dir
	image     ownbinary.Image
	files     *files.Store
	pool      *slot.Pool
	svc       *service.Service
	metrics   *metrics.Set
	telemetry *telemetry.Telemetry // nil: it is off
	tracer    *trace.Tracer        // nil: traces are off
	gpus      *nvml.Sampler
	view      *dashboard.View // nil: it is off
	stopping  atomic.Bool
	budget    *memory.Budget
	heap      atomic.Pointer[heap.Heap] // nil before the model is being set up, and where it is the user's
	webhooks  *webhook.Sender
	queue     *queued.Member // nil: accepted predictions live in this process
	http      *httpd.Server
	ln        net.Listener
	monitor   *httpd.Server   // nil: metrics and probes have no separate port
	watched   net.Listener    // the monitor's
	grpc      *grpcServer     // nil: off
	single    protocol.Models // the model, for other protocols
	auth      *tokenfile.File // nil: no token is wanted
	workers   []*supervise.Supervisor
	asked     chan struct{} // a token: a client asked for a shutdown
	broken    chan struct{} // closed: the first setup has failed, which is to end the server
	address   string
	model     *model.Model
	current   atomic.Pointer[model.Model] // as it was last read
	python    *locate.Python
	plan      gpus.Plan
	fleet     *supervise.Fleet
	orphans   *supervise.Orphans
	preloader *supervise.Preloader // nil: none was asked for
	reloads   reloads
	watcher   *watch.Watcher   // of the model's folder; nil: there is none
	sdkLock   sync.Mutex       // see keepSDK
	sdk       string           // where makeSupervisors found the cog package; "" after the first start
	signals   <-chan os.Signal // watched from the start: the run folder is to be removed whenever one comes
}

// New wires the server and opens its sockets. Nothing is served yet.
func New(s *settings.Serve, m *model.Model, python *locate.Python, plan gpus.Plan, log *slog.Logger, sink *logsink.Sink) (_ *Server, err error) {
	f := &Server{s: s, log: log, sink: sink, model: m, python: python, plan: plan, asked: make(chan struct{}, 1), broken: make(chan struct{})}
	if s.Fleet.Preload {
		if err := supervise.AdoptForks(); err != nil {
			return nil, fmt.Errorf("--preload: %w", err)
		}
	}
	f.orphans = supervise.ReapOrphans()
	f.fleet = supervise.NewFleet(f.orphans)
	if limit := limits.ApplyMemory(int64(s.MemoryBudget)); limit > 0 {
		f.log.Debug("the front's memory has a soft limit", "bytes", limit)
	}
	f.signals = interrupts.Watch(s.AwaitExplicitShutdown)
	for _, w := range s.Warnings() {
		f.log.Warn(w)
	}
	if f.dir, err = rundir.Make(); err != nil {
		return nil, err
	}
	go f.dir.KeepFresh()
	f.budget = limits.NewBudget(int64(s.MemoryBudget))
	f.budget.SetOnFree(func() { f.giveBack(heap.QuietTime) })
	f.metrics = f.newMetrics()
	steps := []func() error{
		f.beginTelemetry, f.openFiles, f.makeService, f.makeHTTP, f.joinQueue, f.watchFolder, f.listen, f.openMonitor, f.openGRPC,
		f.makeSupervisors, f.sendMetrics,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, f.discard(err)
		}
	}
	f.log.Info("listening", "address", f.address, "model", m.Name(), "python", python.Executable,
		"python_version", python.Version, "python_from", python.Source)
	return f, nil
}

func (f *Server) ask() {
	select {
	case f.asked <- struct{}{}:
	default:
	}
}

// discard undoes newFront.
func (f *Server) discard(err error) error {
	f.leaveQueue()
	f.closeWatcher()
	for _, ln := range []net.Listener{f.ln, f.watched} {
		if ln != nil {
			ln.Close()
		}
	}
	if f.grpc != nil {
		f.grpc.ln.Close()
	}
	if f.files != nil {
		f.files.Close()
	}
	f.telemetry.Stop()
	f.dir.Remove()
	return err
}

// Run serves until the server stops; it returns the exit code.
func (f *Server) Run() int {
	served := make(chan error, 3)
	go func() { served <- f.http.Serve(f.ln) }()
	if f.monitor != nil {
		go func() { served <- f.monitor.Serve(f.watched) }()
	}
	if f.grpc != nil {
		go func() { served <- f.grpc.Serve(f.grpc.ln) }()
	}
	if f.preloader != nil {
		f.preloader.Start()
	}
	for _, w := range f.workers {
		go w.Run()
	}
	f.heap.Store(heap.New()) // it begins with a collection, which disturbs nothing while a worker starts
	go f.announce()
	f.watchReload()
	f.followChanges()
	code := exit.OK
	select {
	case sig := <-f.signals:
		f.log.Info("shutting down", "signal", sig.String(), "grace", f.s.Grace.String())
		if !f.drain(f.s.Grace) {
			code = exit.Interrupted
		}
	case <-f.asked:
		f.log.Info("shutting down", "asked_by", "POST /shutdown")
		if !f.drain(0) {
			code = exit.Interrupted
		}
	case err := <-served:
		f.log.Error("the server's socket failed", "error", err)
		f.stopWorkers(true)
		code = exit.Failure
	case <-f.broken:
		why := failure(f.workers[0].Status())
		f.stopWorkers(true)
		defer f.reportFailure(why)
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
	f.closeWatcher()
	f.closeMonitor()
	f.leaveQueue()
	f.webhooks.Close()
	f.svc.Close()
	if err := f.files.Close(); err != nil {
		f.log.Warn("files not removed", "error", err)
	}
	if err := f.dir.Remove(); err != nil {
		f.log.Warn("run folder not removed", "folder", f.dir.Path(), "error", err)
	}
	f.log.Info("stopped")
	f.telemetry.Stop()
}

// errStopping refuses new predictions while the server stops.
var errStopping = &predict.NotReadyError{Reason: "The server is shutting down"}

// lastWait is how long after their cancelling the last predictions may take, beyond the grace that a
// cancel itself has.
const lastWait = 5 * time.Second
