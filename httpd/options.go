package httpd

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"os"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/httpd/access"
	"pinion/httpd/place"
	"pinion/httpd/protocol"
	"pinion/httpd/transport"
	"pinion/runtime/connlimit"
	"pinion/runtime/memory"
	"pinion/runtime/metrics"
	"pinion/runtime/trace"
)

// Options of a Server. A zero field takes its default.
type Options struct {
	// MaxBody is the largest request body in bytes; the answer to a larger one is 413. Default: 100 MiB.
	MaxBody int64

	// HeaderTimeout is how long a client may take to send a request's header. Each 4 KiB of a body add a second, so that
	// slow uploads pass and stalled ones end. After it the answer is 408. Default: 60 s.
	HeaderTimeout time.Duration

	// IdleTimeout is how long a connection may stay open between requests. The default, 650 s, exceeds that of the load
	// balancers of the large clouds (at most 600 s): if the server closed first, some requests would meet a closed
	// connection.
	IdleTimeout time.Duration

	// WriteTimeout ends a connection whose client takes no bytes of an answer: each part of at most 256 KiB must be
	// written within it (or half of it, at the least). Default: 60 s.
	WriteTimeout time.Duration

	// Connections bounds the open connections, also those of other servers that share it. When it is reached the oldest
	// idle ones are closed; if none is idle, a new one gets 503. Default: 16384 connections.
	Connections *connlimit.Limit

	// Logger receives panics and refused connections, and fasthttp's logs at debug level. The default is none.
	Logger *slog.Logger

	// CogVersion is the version of the cog interface that GET / names.
	CogVersion string

	// ModelName is the title of the OpenAPI document. Default: the title in the model's document.
	ModelName string

	// StreamComment is after how much silence a stream sends a comment, so that proxies do not close it. Default: 15 s, by
	// the HTTP contract.
	StreamComment time.Duration

	// StreamIdle is how long a streamed input may be without an item. Default: 60 s.
	StreamIdle time.Duration

	// CORSOrigins are the origins ("https://example.com"), or patterns of them ("https://*.example.com",
	// "http://localhost:*"), whose pages may call this server from a browser; "*" stands for all. Default: none, so no
	// CORS headers are sent, and a foreign page's request that changes state gets 403.
	CORSOrigins []string

	// AllowedHosts are names of this server, in lower case and without a port, at which its pages work over plain http
	// although the names could be registered. The default is none.
	AllowedHosts []string

	// Tokens are required of every request except probes and the paths in Public; else the answer is 401. A health request
	// without one gets the status and no details. Default: none are required.
	Tokens *access.Tokens

	// Help returns the address of a document, such as "how-to/security", to which refusals lead; nil means none is known.
	Help func(page string) string

	// Public are paths, for example "/docs", that require no token.
	Public []string

	// Shutdown is called by POST /shutdown: it begins a graceful shutdown and does not wait. Nil means the answer is 404.
	Shutdown func()

	// ShutdownFromAny lets every client shut the server down. Default: only programs on this machine.
	ShutdownFromAny bool

	// ControlFromAny lets every client load, unload and reload models. Default: programs on this machine, and clients with
	// a token.
	ControlFromAny bool

	// Reload is called by POST /reload, and must not block. Its notice is in the answer. Nil means the
	// answer is 404.
	Reload func() (notice string, err error)

	// OnRequest receives each answered request: the pattern of its route ("/predictions/{id}"; "" means no route), its
	// method ("OTHER" means unknown), its status code, and how long the answer took (of a stream, until its start). It
	// must not block. The default is none.
	OnRequest func(route, method string, code int, took time.Duration)

	// OnGeneration receives each ended request of another protocol to a generative model. It must not block. Default:
	// none.
	OnGeneration func(metrics.Generation)

	// TenantHeader is the header that names a request's tenant; "" means all are of one.
	TenantHeader string

	// Tracer traces predictions, trainings and cancels; nil means nothing is traced.
	Tracer *trace.Tracer

	// AccessLines is how many requests a second are logged; more are left out. The default is none.
	AccessLines int

	// ReplayPuts means that a PUT of the id and input of a prediction that has ended is answered with its kept result.
	ReplayPuts bool
	// AccessProbes means that requests for health and metrics are logged too.
	AccessProbes bool
	// AccessText means that access lines are for people: method, path, status and time are the message, and the client
	// is left out.
	AccessText bool
	// Memory is the budget for bodies and answers; nil means no limit.
	Memory *memory.Budget

	// Spool makes a file for a large body (of that size in bytes, or 0 for an unknown one) when Memory has no room for it.
	// It returns nil if the server has no disk. Default: such bodies wait, or are refused.
	Spool func(size int64) (*os.File, error)

	// Queue returns what gets the asynchronous predictions of the default model at the root, and others as Queueing says,
	// or nil if they are the Service's.
	Queue    func() place.Queue
	Queueing place.QueueOptions

	// TLS is spoken with clients; nil means plain HTTP.
	TLS *tls.Config

	// Protocols are other protocols at the same port. The default is none.
	Protocols []protocol.Protocol

	// Models are those below /models; the first one is the model that New is called for. nil means there are none;
	// an empty list may be replaced later. Default: nil.
	Models   []Model
	monitors bool // see NewMonitor
	jobs     bool // see NewJobs: answers are neither translated nor compressed

	conns transport.Options // what tests change

	// Docs answers GET /docs, and Metrics GET /metrics; nil means 404.
	Docs, Metrics fasthttp.RequestHandler
	// DocsData answers GET of its paths, what the page at /docs asks for.
	DocsData map[string]fasthttp.RequestHandler

	// Dashboard is the live view at /dashboard; nil means 404.
	Dashboard *Dashboard
}

func (o Options) withDefaults() Options {
	o.MaxBody = cmp.Or(o.MaxBody, 100<<20)
	o.HeaderTimeout = cmp.Or(o.HeaderTimeout, 60*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 650*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 60*time.Second)
	o.Connections = cmp.Or(o.Connections, connlimit.New(transport.MaxConnections))
	o.StreamComment = cmp.Or(o.StreamComment, 15*time.Second)
	o.StreamIdle = cmp.Or(o.StreamIdle, 60*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}
