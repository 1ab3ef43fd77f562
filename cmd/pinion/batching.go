package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/interrupts"
	"pinion/cmd/pinion/internal/limits"
	"pinion/cmd/pinion/internal/listener"
	"pinion/cmd/pinion/internal/logsink"
	"pinion/cmd/pinion/internal/usage"
	"pinion/httpd"
	"pinion/runtime/batch"
	"pinion/runtime/metrics"
	"pinion/runtime/ventu"
)

const batchingHelp = `Gather HTTP requests into batches for workers that connect by themselves, as github.com/kemingy/batching does it: a
drop-in for that service. Workers are ventu services in socket mode, or any program that speaks the protocol.
docs/how-to/batching-dropin.md says what differs. Flags may have one dash or two.

Usage:
  pinion batching [flags]

Flags:
`

func newBatching() *cobra.Command {
	var s batchingSettings
	flags := s.flags()
	cmd := &cobra.Command{
		Use:   "batching",
		Short: "Gather requests into batches for workers of github.com/kemingy/batching",
		// Flags with one dash are none to pflag.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch err := s.parse(flags, args); {
			case errors.Is(err, flag.ErrHelp):
				return cmd.Help()
			case err != nil:
				return err
			}
			return serveBatching(&s)
		},
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprint(cmd.OutOrStdout(), batchingHelp)
		flags.SetOutput(cmd.OutOrStdout())
		flags.PrintDefaults()
	})
	return cmd
}

// batchingSettings are the flags of 'pinion batching'.
type batchingSettings struct {
	address, protocol, host string
	size, capacity, port    int
	latency, timeout        int // milliseconds
	latencyGiven            bool
	maxBody                 int64
	grace                   time.Duration
	leaveSockets            bool
	logLevel, logFormat     string
}

// flags declares the flags: first those of the service that is stood in for.
func (s *batchingSettings) flags() *flag.FlagSet {
	f := flag.NewFlagSet("batching", flag.ContinueOnError)
	f.SetOutput(discard{}) // errors are printed by main, help by the command
	f.StringVar(&s.address, "address", "batching.socket", "where workers connect: the `path` of a unix socket, or host:port")
	f.StringVar(&s.protocol, "protocol", "unix", "unix or tcp")
	f.IntVar(&s.size, "batch", 32, "largest batch, 1 to 4096")
	f.IntVar(&s.capacity, "capacity", 1024, "how many requests may wait for a worker; when it is full, the answer is 429")
	f.IntVar(&s.latency, "latency", 10, "`ms` for which a batch that is not full waits for more; without this flag the wait adapts\n"+
		"to the workers and the load, and a single request is sent at once")
	f.IntVar(&s.timeout, "timeout", 5000, "`ms` after which a request is answered 408")
	f.StringVar(&s.host, "host", "0.0.0.0", "address to listen on for HTTP, or unix:/path")
	f.IntVar(&s.port, "port", 8080, "port to listen on for HTTP; 0 picks a free one and prints it")
	f.Int64Var(&s.maxBody, "max-body", 100<<20, "largest body of a request or an answer, in `bytes`")
	f.DurationVar(&s.grace, "grace", 30*time.Second, "how long requests in flight may go on after SIGINT or SIGTERM")
	f.BoolVar(&s.leaveSockets, "leave-sockets", false, "never have a ventu worker's socket wait for whole batches")
	f.StringVar(&s.logLevel, "log-level", "info", "debug, info, warning or error")
	f.StringVar(&s.logFormat, "log-format", "", "json or console (default: console on a terminal)")
	return f
}

// discard is where the flag package's own messages go.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// parse reads and checks the command line. flag.ErrHelp: it asks for help.
func (s *batchingSettings) parse(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usage.GoFlagError(f, args, err)
	}
	if f.NArg() > 0 {
		return fmt.Errorf("pinion batching takes flags only, not %q", f.Arg(0))
	}
	f.Visit(func(given *flag.Flag) { s.latencyGiven = s.latencyGiven || given.Name == "latency" })
	return s.check()
}

// check refuses what no flag may say.
func (s *batchingSettings) check() error {
	switch {
	case s.protocol != "unix" && s.protocol != "tcp":
		return fmt.Errorf("-protocol %q: it is unix or tcp", s.protocol)
	case (batch.Options{MaxSize: s.size}).Check() != nil:
		return fmt.Errorf("-batch %d: it is 1 to %d", s.size, batch.LargestSize)
	case s.capacity < 1:
		return fmt.Errorf("-capacity %d: it is at least 1", s.capacity)
	case s.latency < 0:
		return fmt.Errorf("-latency %d: it is at least 0", s.latency)
	case s.timeout < 1:
		return fmt.Errorf("-timeout %d: it is at least 1", s.timeout)
	case s.port < 0 || s.port > 65535:
		return fmt.Errorf("-port %d: a port is 0 to 65535", s.port)
	case s.maxBody < 1 || s.maxBody > ventu.LargestBody:
		return fmt.Errorf("-max-body %d: it is 1 to %d", s.maxBody, ventu.LargestBody)
	case s.grace < 0:
		return fmt.Errorf("-grace %s: it is at least 0", s.grace)
	}
	if _, ok := logsink.ParseLevel(s.logLevel); !ok {
		return fmt.Errorf("-log-level %q: it is %s", s.logLevel, logsink.Levels)
	}
	if err := checkFormat(s.logFormat); err != nil {
		return fmt.Errorf("-log-format %w", err)
	}
	return nil
}

// gather is how long batches wait, as ventu.Options says it.
func (s *batchingSettings) gather() time.Duration {
	if !s.latencyGiven {
		return ventu.Adaptive
	}
	return time.Duration(s.latency) * time.Millisecond
}

// batchingFront is the wired service.
type batchingFront struct {
	s       *batchingSettings
	log     *slog.Logger
	queue   *ventu.Queue
	http    *httpd.Server
	metrics *metrics.Set
	served  chan error // why a socket failed
}

func serveBatching(s *batchingSettings) error {
	f := &batchingFront{s: s, served: make(chan error, 2)}
	log, sink := (&settings{logLevel: s.logLevel, logFormat: s.logFormat}).logger()
	defer sink.Flush(logsink.FlushTimeout)
	f.log = log
	if limit := limits.ApplyMemory(0); limit > 0 {
		f.log.Debug("memory has a soft limit", "bytes", limit)
	}
	signals := interrupts.Watch(false)
	f.metrics = metrics.New(metrics.Options{Version: version, Load: f.load, Workers: f.workers, DroppedLogs: sink.Dropped, SetsAside: true})
	f.queue = ventu.New(ventu.Options{
		MaxSize: s.size, Gather: s.gather(), Capacity: s.capacity, Timeout: time.Duration(s.timeout) * time.Millisecond,
		MaxAnswer: s.maxBody, LeaveSockets: s.leaveSockets, Logger: f.log, Observer: batchingObserver{f.metrics},
	})
	f.http = httpd.NewJobs(batchingJobs{f.queue}, httpd.Options{
		MaxBody: s.maxBody, Logger: f.log, Metrics: serveMetrics(f.metrics), OnRequest: f.metrics.Request, Memory: limits.NewBudget(0),
	})
	workers, err := listenWorkers(s.protocol, s.address)
	if err != nil {
		return &exitError{exitFailure, err}
	}
	clients, address, err := listener.Listen(s.host, s.port, listener.PortSetting{Flag: "-port", Variable: ""})
	if err != nil {
		workers.Close()
		return &exitError{exitFailure, err}
	}
	f.log.Info("listening", "address", address, "workers", s.protocol+":"+workers.Addr().String(),
		"batch", s.size, "wait", f.waitText())
	go func() { f.served <- f.queue.Serve(workers) }()
	go func() { f.served <- f.http.Serve(clients) }()
	if code := f.run(signals); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// waitText says how long batches wait.
func (f *batchingFront) waitText() string {
	if g := f.s.gather(); g != ventu.Adaptive {
		return g.String()
	}
	return "adaptive"
}

// listenWorkers opens the socket that workers connect to.
func listenWorkers(protocol, address string) (net.Listener, error) {
	if protocol == "unix" {
		if err := listener.RemoveStale(address); err != nil {
			return nil, err
		}
	}
	ln, err := net.Listen(protocol, address)
	if err != nil {
		return nil, fmt.Errorf("listen for workers on %s %s: %w", protocol, address, err)
	}
	return ln, nil
}

// run serves until the server stops; it returns the exit code.
func (f *batchingFront) run(signals <-chan os.Signal) int {
	code := exitOK
	select {
	case sig := <-signals:
		f.log.Info("shutting down", "signal", sig.String(), "grace", f.s.grace.String())
		if !f.drain(signals) {
			code = exitInterrupted
		}
	case err := <-f.served:
		f.log.Error("a socket of the server failed", "error", err)
		code = exitFailure
	}
	f.queue.Close()
	f.log.Info("stopped")
	return code
}

// drain takes nothing more in and waits until what is in flight is answered, for the grace at most. A SIGINT meanwhile
// ends everything at once: false.
func (f *batchingFront) drain(signals <-chan os.Signal) bool {
	ctx, giveUp := context.WithTimeout(context.Background(), f.s.grace)
	defer giveUp()
	answered := make(chan error, 1)
	go func() { answered <- f.http.Shutdown(ctx) }()
	for {
		select {
		case err := <-answered:
			if err != nil {
				f.log.Warn("connections were closed with requests in flight", "error", err)
			}
			return true
		case sig := <-signals:
			if sig == syscall.SIGINT {
				f.log.Warn("interrupted again: ending at once")
				return false
			}
		}
	}
}

func (f *batchingFront) load() metrics.Load {
	l := f.queue.Load()
	return metrics.Load{InFlight: l.InFlight, Queued: l.Queued, Capacity: l.Capacity, Slots: len(l.PIDs) * f.s.size}
}

func (f *batchingFront) workers() []metrics.Worker {
	var now []metrics.Worker
	for _, pid := range f.queue.Load().PIDs {
		now = append(now, metrics.Worker{State: "ready", PID: pid})
	}
	return now
}
