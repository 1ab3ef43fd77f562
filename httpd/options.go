package httpd

import (
	"log/slog"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/memory"
)

// Options of a Server. A zero field takes its default.
type Options struct {
	// MaxBody is the largest request body in bytes; a larger one is answered 413.
	// Default: 100 MiB.
	MaxBody int64

	// HeaderTimeout is how long a client may take over a request's header. Its body may take longer:
	// each 4 KiB that arrive earn another second, so that slow uploads pass and stalled ones end.
	// Past it the answer is 408. Default: 60 s.
	HeaderTimeout time.Duration

	// IdleTimeout is how long a connection may stay open between requests. The default, 650 s, is
	// longer than the load balancers of the large clouds keep theirs (at most 600 s): the side that
	// sends requests must be the one that closes first, or some requests meet a closed connection.
	IdleTimeout time.Duration

	// WriteTimeout bounds how long a client may take none of an answer: a piece of at most 256 KiB
	// that is not taken within it ends the connection (it may end after half of it). Default: 60 s.
	WriteTimeout time.Duration

	// Concurrency is how many connections may be open at once; one more is answered 503.
	// Default: 16384.
	Concurrency int

	// Logger gets panics and refused connections, and at debug level what fasthttp has to say.
	// Default: none.
	Logger *slog.Logger

	// CogVersion is the version of the cog interface that GET / names.
	CogVersion string

	// ModelName is the title of the OpenAPI document. Default: as the model's document has it.
	ModelName string

	// StreamComment is after how much silence a stream sends a comment, so that proxies on the way
	// do not take it for dead. Default: 15 s, by the HTTP contract.
	StreamComment time.Duration

	// CORSOrigins are the origins ("https://example.com") whose pages may call this server from a
	// browser; "*" stands for all. Default: none; no CORS header is ever sent, and what a foreign page would change is 403.
	CORSOrigins []string

	// Tokens are wanted of every request, but for probes and the paths in Public; else it is answered 401. A request for health
	// without one gets the state and no details. Default: none are wanted.
	Tokens *Tokens

	// Public are paths, such as "/docs", that want no token.
	Public []string

	// NoShutdown: POST /shutdown is not found.
	NoShutdown bool

	// ShutdownFromAny lets every client shut the server down. Default: programs on this machine alone.
	ShutdownFromAny bool

	// Reload is asked by POST /reload, from this machine only, and must not wait. What it has to say beside its error is in the
	// answer. Nil: the path is not found.
	Reload func() (notice string, err error)

	// OnRequest is told of each request that was answered: the pattern of its route ("/predictions/{id}"; "": none
	// is its), its method ("OTHER": none that this server knows), its status code, and how long the answer took; of a
	// stream, its beginning. It must not block. Default: none.
	OnRequest func(route, method string, code int, took time.Duration)

	// AccessLines is how many lines a second the log may have of requests; what is beyond is left out. Default: none.
	AccessLines int

	// AccessProbes: requests of health and metrics have lines, too.
	AccessProbes bool

	// AccessText: the lines are for people. Method, path, status and time are the message, and the client is left out.
	AccessText bool
	// Memory is what bodies and answers are charged to; nil: there is no limit.
	Memory *memory.Budget

	// Docs answers GET /docs, and Metrics GET /metrics; nil: the path is not found.
	Docs, Metrics fasthttp.RequestHandler
}

func (o Options) withDefaults() Options {
	if o.MaxBody <= 0 {
		o.MaxBody = 100 << 20
	}
	if o.HeaderTimeout <= 0 {
		o.HeaderTimeout = 60 * time.Second
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 650 * time.Second
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = 60 * time.Second
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 16384
	}
	if o.StreamComment <= 0 {
		o.StreamComment = 15 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
