package batching

import (
	"fmt"
	"log/slog"
	"net"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/logging"
	"pinion/cmd/pinion/internal/ports"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/resources"
	"pinion/httpd"
	"pinion/runtime/connlimit"
	"pinion/runtime/metrics"
	"pinion/runtime/ventu"
)

// service is the wired service.
type service struct {
	s       *config.Batching
	log     *slog.Logger
	queue   *ventu.Queue
	http    *httpd.Server
	metrics *metrics.Set
	served  chan error // why a socket failed
}

// Run serves until a signal. The error has the command's exit code.
func Run(o *config.Batching) error {
	s := &service{s: o, served: make(chan error, 2)}
	log, sink := o.Log.Open()
	defer sink.Flush(logging.FlushTimeout)
	s.log = log
	if limit := resources.ApplyMemoryLimit(0); limit > 0 {
		s.log.Debug("memory has a soft limit", "bytes", limit)
	}
	signals := process.WatchInterrupts(false)
	s.wire(sink)
	if err := s.listen(); err != nil {
		return process.Failed(err)
	}
	return s.run(signals)
}

// wire makes the queue and the HTTP server.
func (s *service) wire(sink *logging.Sink) {
	o := s.s
	connections := connlimit.New(resources.ConnectionLimit())
	s.metrics = metrics.New(metrics.Options{
		Version: version.Pinion, Load: s.load, Workers: s.workers, DroppedLogs: sink.Dropped, SetsAside: true,
		Connections: connections.Stats,
	})
	s.queue = ventu.New(ventu.Options{
		MaxSize: o.Size, Gather: o.Gather(), Capacity: o.Capacity, Timeout: o.Timeout(),
		MaxAnswer: o.MaxBody, LeaveSockets: o.LeaveSockets, Logger: s.log, Observer: observer{s.metrics},
		Connections: connections.Part(resources.ConnectionLimit() / 2), // clients keep the rest
	})
	s.http = httpd.NewJobs(jobs{s.queue}, httpd.Options{
		MaxBody: o.MaxBody, Logger: s.log, Metrics: httpd.MetricsHandler(s.metrics), OnRequest: s.metrics.Request,
		Memory: resources.NewBudget(0), Connections: connections, Help: version.HelpPages(),
	})
}

// listen opens both sockets, and begins to serve them.
func (s *service) listen() error {
	workers, err := listenWorkers(s.s.Protocol, s.s.Address)
	if err != nil {
		return err
	}
	clients, address, err := ports.Listen(s.s.Host, s.s.Port, ports.Setting{Flag: "--port", Variable: ""}, nil)
	if err != nil {
		workers.Close()
		return err
	}
	s.log.Info("listening", "address", address, "workers", s.s.Protocol+":"+workers.Addr().String(),
		"batch", s.s.Size, "wait", s.waitText())
	go func() { s.served <- s.queue.Serve(workers) }()
	go func() { s.served <- s.http.Serve(clients) }()
	return nil
}

func (s *service) waitText() string {
	if g := s.s.Gather(); g != ventu.Adaptive {
		return g.String()
	}
	return "adaptive"
}

// listenWorkers opens the socket that workers connect to.
func listenWorkers(protocol, address string) (net.Listener, error) {
	if protocol == "unix" {
		if err := ports.RemoveStaleSocket(address); err != nil {
			return nil, ports.ListenError(err)
		}
	}
	ln, err := net.Listen(protocol, address)
	if err != nil {
		return nil, ports.ListenError(fmt.Errorf("listen for workers on %s %s: %w", protocol, address, err))
	}
	return ln, nil
}

// run waits for the end of the server.
func (s *service) run(signals process.Interrupts) (err error) {
	select {
	case sig := <-signals:
		s.log.Info("shutting down", "signal", sig.String(), "grace", s.s.Grace.String())
		if !process.DrainHTTP(s.http, s.s.Grace, signals, s.log) {
			err = process.ExitWith(process.ExitInterrupted)
		}
	case why := <-s.served:
		s.log.Error("a socket of the server failed", "error", why)
		err = process.ExitWith(process.ExitFailure)
	}
	s.queue.Close()
	s.log.Info("stopped")
	return err
}

func (s *service) load() metrics.Load {
	l := s.queue.Load()
	return metrics.Load{InFlight: l.InFlight, Queued: l.Queued, Capacity: l.Capacity, Slots: len(l.PIDs) * s.s.Size}
}

func (s *service) workers() []metrics.Worker {
	var now []metrics.Worker
	for _, pid := range s.queue.Load().PIDs {
		now = append(now, metrics.Worker{State: "ready", PID: pid})
	}
	return now
}
