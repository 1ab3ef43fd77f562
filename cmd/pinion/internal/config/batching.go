package config

import (
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
	list              usertext.Settings
}

// BindFlags declares the flags: first those of the service that this one replaces.
// BindFlags declares the flags, and sets what holds until they are given. None has a variable.
func (s *Batching) BindFlags(f *pflag.FlagSet) {
	host, port, body := hostSetting(&s.Host), portSetting(&s.Port), maxBodySetting(&s.MaxBody)
	host.Help, host.Init, host.Default = "address to listen on for HTTP, or unix:/path", "0.0.0.0", ""
	port.Help, port.Init, port.Short = "port to listen on for HTTP; 0 picks a free one and prints it", 8080, ""
	body.Help, body.Max = "largest body of a request or an answer, in `bytes`", ventu.LargestBody
	s.list = append(usertext.Settings{
		{
			To: &s.Address, Name: "address", Init: "batching.socket",
			Help: "where workers connect: the `path` of a unix socket, or host:port",
		},
		{To: &s.Protocol, Name: "protocol", Init: "unix", Words: []string{"unix", "tcp"}, Help: "unix or tcp"},
		{To: &s.Size, Name: "batch", Init: 32, Min: 1, Max: batch.LargestSize, Help: "largest batch, 1 to 4096"},
		{
			To: &s.Capacity, Name: "capacity", Init: 1024, Min: 1,
			Help: "how many requests may wait for a worker; when it is full, the answer is 429",
		},
		{
			To: &s.latency, Name: "latency", Default: "by the workers and the load; a single request is sent at once",
			Help: "`ms` for which a batch that is not full waits for more",
		},
		{To: &s.timeout, Name: "timeout", Init: 5000, Min: 1, Help: "`ms` after which a request is answered 408"},
		host, port, body, graceSetting(&s.Grace, "requests"),
		{To: &s.LeaveSockets, Name: "leave-sockets", Help: "leave the socket options of ventu workers on this host as they are"},
	}, s.Log.Settings()...)
	for i := range s.list {
		s.list[i].Variable = usertext.NoVariable
	}
	s.list.Bind(f)
}

// Timeout returns the timeout of a request.
func (s *Batching) Timeout() time.Duration { return time.Duration(s.timeout) * time.Millisecond }

// Gather returns how long a batch that is not full waits, as ventu.Options has it.
func (s *Batching) Gather() time.Duration {
	if s.list.Given(&s.latency) {
		return time.Duration(s.latency) * time.Millisecond
	}
	return ventu.Adaptive
}
