package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/logging"
	"pinion/cmd/pinion/internal/ports"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/resources"
	"pinion/httpd"
	"pinion/httpd/oip/grpc"
	"pinion/httpd/protocol"
	"pinion/runtime/connlimit"
	"pinion/runtime/files"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/memory"
	"pinion/runtime/metrics"
	"pinion/runtime/webhook"
)

// gateway is the wired gateway.
type gateway struct {
	s        *config.Gateway
	log      *slog.Logger
	dir      *process.RunDir
	budget   *memory.Budget
	files    *files.Store
	webhooks *webhook.Sender
	metrics  *metrics.Set                    // of the gateway; with --model, the model's too
	models   atomic.Pointer[[]*gatewayModel] // in the order of --models, else of their names
	finder   *finder                         // of models that have a queue; nil means --models says which there are
	routing  sync.Mutex                      // held while http gets other models
	http     *httpd.Server
	grpc     *ports.GRPC // nil means off
	ln       net.Listener
	signals  process.Interrupts
	refused  chan error // why NATS refuses the gateway, which ends it

	connections *connlimit.Limit
}

// all returns the models.
func (g *gateway) all() []*gatewayModel { return *g.models.Load() }

// only returns the model at the root, or nil: several were found, so requests must name theirs.
func (g *gateway) only() *gatewayModel {
	models := g.all()
	if len(models) == 1 || len(models) > 0 && g.finder == nil {
		return models[0]
	}
	return nil
}

// RunGateway serves until a signal. The error has the command's exit code.
func RunGateway(s *config.Gateway) error {
	log, sink := s.Log.Open()
	defer sink.Flush(logging.FlushTimeout)
	resources.ApplyMemoryLimit(0)
	for _, w := range s.Warnings {
		log.Warn(w)
	}
	g := &gateway{s: s, log: log, signals: process.WatchInterrupts(false), refused: make(chan error, 1)}
	defer g.clean()
	err := g.open(sink)
	if err == nil {
		err = g.run()
	}
	if _, ok := errors.AsType[*state.MismatchError](err); ok {
		return process.Misused(err)
	}
	return process.Failed(err)
}

// open wires the gateway and joins the queue.
func (g *gateway) open(sink *logging.Sink) (err error) {
	s := g.s
	if g.dir, err = process.MakeRunDir(); err != nil {
		return err
	}
	go g.dir.KeepFresh()
	g.models.Store(&[]*gatewayModel{})
	g.budget = resources.NewBudget(0)
	if g.files, err = files.New(files.Options{
		Root: g.dir.Files(), Remake: g.dir.RemakeFiles,
		UserAgent: "pinion/" + version.Pinion, Logger: g.log,
	}); err != nil {
		return err
	}
	g.connections = connlimit.New(resources.ConnectionLimit())
	g.makeMetrics(sink)
	g.webhooks = webhook.New(webhook.Options{
		Memory: g.budget, AuthToken: s.WebhookToken, Key: s.WebhookKey, UserAgent: "pinion/" + version.Pinion, Logger: g.log,
		DenyPrivate: s.DenyPrivateWebhooks,
		OnDelivery:  g.metrics.Webhook,
	})
	var auth *ports.TokenFile
	if s.Exposure.AuthFile != "" {
		if auth, err = ports.OpenTokenFile(s.Exposure.AuthFile, g.log); err != nil {
			return err
		}
	}
	cert, err := ports.OpenCertificate(s.Exposure.TLS, g.log)
	if err != nil {
		return err
	}
	onHangup(auth.Reload)
	if err := g.joinAll(); err != nil {
		return err
	}
	g.routing.Lock() // versions may become known already
	setMCP(&s.Protocols.MCP, s.Exposure.AuthFile != "", false)
	g.http = httpd.New(&rootRoute{g, g.firstRoute, g.noDefault, newRequestChecker(g.files, g.log)}, httpd.Options{
		TenantHeader: s.Jobs.TenantHeader,
		MaxBody:      s.MaxBody, Logger: g.log, CogVersion: version.Cog, AllowedHosts: s.Exposure.AllowedHosts,
		Metrics: httpd.MetricsHandler(g.allMetrics()), OnRequest: g.metrics.Request,
		Connections: g.connections, TLS: cert.ForHTTP(&s.Exposure), Tokens: auth.Tokens(),
		Public: []string{"/docs", "/dashboard"}, Memory: g.budget,
		Spool: g.files.SpoolToDisk, ReplayPuts: s.Jobs.ReplayPuts,
		Queue: g.rootQueue, Queueing: g.queueing(),
		Models: g.httpModels(), Protocols: s.Protocols.List(protocol.Several(g.knownModels)),
		Docs: g.rootPage, Dashboard: g.dashboard(), Help: version.HelpPages(),
	})
	g.routing.Unlock()
	if g.finder != nil {
		go g.find()
	}
	var address string
	if g.ln, address, err = ports.Listen(s.Exposure.Address(), s.Port,
		ports.Setting{Flag: "-p", Variable: "PORT"}, cert); err != nil {
		return err
	}
	if g.grpc, err = ports.OpenGRPC(&s.Protocols, &s.Exposure, auth, cert, grpc.Options{
		Models: protocol.Several(g.knownModels), Logger: g.log, MaxMessage: s.MaxBody, Memory: g.budget,
		Connections: g.connections, OnCall: g.metrics.Call, TenantHeader: s.Jobs.TenantHeader,
	}); err != nil {
		return err
	}
	names := []process.ModelInfo{}
	for _, m := range g.all() {
		names = append(names, process.ModelInfo{Name: m.name})
	}
	g.log.Info("listening", "address", address, "models", strings.Join(s.Models, ","))
	address, _ = ports.Reachable(address)
	if err := g.dir.Describe(address, names); err != nil {
		g.log.Warn("pinion ps does not list this server", "error", err)
	}
	return nil
}

// run answers until a signal. The error has the exit code.
func (g *gateway) run() error {
	served := make(chan error, 2)
	go func() { served <- g.http.Serve(g.ln) }()
	if g.grpc != nil {
		go func() { served <- g.grpc.Serve() }()
	}
	select {
	case sig := <-g.signals:
		g.log.Info("shutting down", "signal", sig.String(), "grace", g.s.Grace.String())
		if !process.DrainHTTP(g, g.s.Grace, g.signals, g.log) {
			return process.ExitWith(process.ExitInterrupted)
		}
		return nil
	case err := <-g.refused:
		return err
	case err := <-served:
		g.log.Error("the gateway's socket failed", "error", err)
		return process.ExitWith(process.ExitFailure)
	}
}

// Shutdown lets the requests and calls in flight end, until ctx does.
func (g *gateway) Shutdown(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- g.grpc.Shutdown(ctx) }()
	return cmp.Or(g.http.Shutdown(ctx), <-ended)
}

func (g *gateway) clean() {
	g.finder.close()
	g.leave(g.all()...)
	if g.webhooks != nil {
		g.webhooks.Close()
	}
	if g.files != nil {
		if err := g.files.Close(); err != nil {
			g.log.Warn("files not removed", "error", err)
		}
	}
	if g.dir != nil {
		if err := g.dir.Remove(); err != nil {
			g.log.Warn("run folder not removed", "folder", g.dir.Path(), "error", err)
		}
	}
}
