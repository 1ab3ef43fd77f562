package config

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/logging"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/batch"
	"pinion/runtime/ventu"
)

// Batching are the flags of 'pinion batching'.
type Batching struct {
	Protocol, Address string // where workers connect: unix or tcp
	Host              string // to listen on for HTTP, or unix:/path
	Port              int
	Size, Capacity    int // of a batch, and of the queue
	MaxBody           int64
	Grace             time.Duration
	LeaveSockets      bool
	Log               logging.Settings
	latency, timeout  int // milliseconds
	latencyGiven      bool
}

// BindFlags declares the flags: first those of the service that this one replaces.
func (s *Batching) BindFlags(f *pflag.FlagSet) {
	f.StringVar(&s.Address, "address", "batching.socket",
		"where workers connect: the `path` of a unix socket, or host:port")
	f.StringVar(&s.Protocol, "protocol", "unix", "unix or tcp")
	f.IntVar(&s.Size, "batch", 32, "largest batch, 1 to 4096")
	f.IntVar(&s.Capacity, "capacity", 1024, "how many requests may wait for a worker; when it is full, the answer is 429")
	f.IntVar(&s.latency, "latency", 0,
		"`ms` for which a batch that is not full waits for more (default: by the workers and the load; a single request is sent at once)")
	f.IntVar(&s.timeout, "timeout", 5000, "`ms` after which a request is answered 408")
	f.StringVar(&s.Host, "host", "0.0.0.0", "address to listen on for HTTP, or unix:/path")
	f.IntVar(&s.Port, "port", 8080, "port to listen on for HTTP; 0 picks a free one and prints it")
	f.Int64Var(&s.MaxBody, "max-body", 100<<20, "largest body of a request or an answer, in `bytes`")
	f.DurationVar(&s.Grace, "grace", 30*time.Second, "how long requests in flight may go on after SIGINT or SIGTERM")
	f.BoolVar(&s.LeaveSockets, "leave-sockets", false,
		"leave the socket options of ventu workers on this host as they are")
	f.StringVar(&s.Log.Level, "log-level", "info", "debug, info, warning or error")
	f.StringVar(&s.Log.Format, "log-format", "", "json or console (default: console on a terminal)")
}

// FromFlags reads and checks what was given.
func (s *Batching) FromFlags(f *pflag.FlagSet) error {
	s.latencyGiven = f.Changed("latency")
	return s.check()
}

func (s *Batching) check() (err error) {
	if s.Host, err = usertext.ParseHost(s.Host); err != nil {
		return fmt.Errorf("--host %w", err)
	}
	switch {
	case s.Protocol != "unix" && s.Protocol != "tcp":
		return fmt.Errorf("--protocol %q: must be unix or tcp", s.Protocol)
	case (batch.Options{MaxSize: s.Size}).Check() != nil:
		return fmt.Errorf("--batch %d: must be 1 to %d", s.Size, batch.LargestSize)
	case s.Capacity < 1:
		return fmt.Errorf("--capacity %d: must be at least 1", s.Capacity)
	case s.latency < 0:
		return fmt.Errorf("--latency %d: must be at least 0", s.latency)
	case s.timeout < 1:
		return fmt.Errorf("--timeout %d: must be at least 1", s.timeout)
	case s.Port < 0 || s.Port > 65535:
		return fmt.Errorf("--port %d: must be 0 to 65535", s.Port)
	case s.MaxBody < 1 || s.MaxBody > ventu.LargestBody:
		return fmt.Errorf("--max-body %d: must be 1 to %d", s.MaxBody, ventu.LargestBody)
	case s.Grace < 0:
		return fmt.Errorf("--grace %s: must be at least 0", s.Grace)
	}
	if err := s.Log.Check(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}

// Timeout returns the timeout of a request.
func (s *Batching) Timeout() time.Duration { return time.Duration(s.timeout) * time.Millisecond }

// Gather returns how long a batch that is not full waits, as ventu.Options has it.
func (s *Batching) Gather() time.Duration {
	if s.latencyGiven {
		return time.Duration(s.latency) * time.Millisecond
	}
	return ventu.Adaptive
}
