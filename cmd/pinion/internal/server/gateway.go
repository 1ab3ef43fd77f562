package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/logging"
	"pinion/cmd/pinion/internal/process"
	"pinion/httpd"
	"pinion/runtime/connlimit"
	"pinion/runtime/files"
	"pinion/runtime/jobqueue"
	"pinion/runtime/jobqueue/store"
	"pinion/runtime/metrics"
	"pinion/runtime/webhook"
)

// gateway is the wired gateway.
type gateway struct {
	s        *config.Gateway
	log      *slog.Logger
	dir      *process.RunDir
	files    *files.Store
	webhooks *webhook.Sender
	member   *jobqueue.Member
	http     *httpd.Server
	ln       net.Listener
	signals  signals

	connections *connlimit.Limit
}

// RunGateway serves until a signal. The error has the command's exit code.
func RunGateway(s *config.Gateway) error {
	log, sink := s.Log.Open()
	defer sink.Flush(logging.FlushTimeout)
	applyMemoryLimit(0)
	for _, w := range s.Warnings {
		log.Warn(w)
	}
	g := &gateway{s: s, log: log, signals: process.WatchInterrupts(false)}
	defer g.clean()
	err := g.open(sink)
	if err == nil {
		err = g.run()
	}
	var other *store.MismatchError
	if errors.As(err, &other) {
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
	budget := newBudget(0)
	if g.files, err = files.New(files.Options{
		Root: g.dir.Files(), Remake: g.dir.RemakeFiles,
		UserAgent: "pinion/" + version.Pinion, Logger: g.log,
	}); err != nil {
		return err
	}
	g.connections = connlimit.New(connectionLimit())
	set := metrics.New(metrics.Options{
		Connections: g.connections.Stats,
		Version:     version.Pinion, Model: func() (string, string) { return "", "" },
		Load: func() metrics.Load { return metrics.Load{} },
		Jobs: func() *metrics.Jobs { return jobsOf(g.member) }, Trainings: func() int { return 0 },
		Workers: func() []metrics.Worker { return nil }, DroppedLogs: sink.Dropped,
	})
	g.webhooks = webhook.New(webhook.Options{
		Memory: budget, AuthToken: s.WebhookToken, Key: s.WebhookKey, UserAgent: "pinion/" + version.Pinion, Logger: g.log,
		DenyPrivate: s.DenyPrivateWebhooks,
		OnDelivery:  set.Webhook,
	})
	var auth *tokenFile
	if s.Exposure.AuthFile != "" {
		if auth, err = openTokenFile(s.Exposure.AuthFile, g.log); err != nil {
			return err
		}
	}
	check := newRequestChecker(g.files, g.log)
	queue := s.Jobs.Options(s.Model, s.ResultTTL)
	g.member, err = jobqueue.Join(jobqueue.Options{
		Connect: func(changed func(error)) (*nats.Conn, error) {
			return s.Jobs.NATS.Connect(queue.Model, queue.Server, changed)
		},
		Queue: queue, Attempts: s.Jobs.Attempts, MaxBody: s.MaxBody, Checker: check, Memory: budget,
		Webhooks: g.webhooks, Logger: g.log,
	})
	if err != nil {
		return err
	}
	g.http = httpd.New(gatewayService{check, g}, httpd.Options{
		MaxBody: s.MaxBody, Logger: g.log, CogVersion: version.Cog, ModelName: s.Model,
		Metrics: httpd.MetricsHandler(set), OnRequest: set.Request,
		Connections: g.connections, Tokens: auth.Tokens(), Memory: budget, Spool: g.files.SpoolToDisk,
		ReplayPuts: s.Jobs.ReplayPuts,
		Queue:      g.member,
		Queueing: httpd.QueueOptions{
			TenantHeader: s.Jobs.TenantHeader, All: true, Wait: func() time.Duration { return s.QueueTimeout },
		},
	})
	var address string
	if g.ln, address, err = listen(s.Exposure.Address(), s.Port,
		portSetting{Flag: "-p", Variable: "PORT"}); err != nil {
		return err
	}
	g.log.Info("listening", "address", address, "model", s.Model)
	address, _ = reachable(address)
	if err := g.dir.Describe(address, []process.ModelInfo{{Name: s.Model}}); err != nil {
		g.log.Warn("pinion ps does not list this server", "error", err)
	}
	return nil
}

// run answers until a signal. The error has the exit code.
func (g *gateway) run() error {
	served := make(chan error, 1)
	go func() { served <- g.http.Serve(g.ln) }()
	select {
	case sig := <-g.signals:
		g.log.Info("shutting down", "signal", sig.String(), "grace", g.s.Grace.String())
		if !drainHTTP(g.http, g.s.Grace, g.signals, g.log) {
			return process.ExitWith(process.ExitInterrupted)
		}
		return nil
	case err := <-served:
		g.log.Error("the gateway's socket failed", "error", err)
		return process.ExitWith(process.ExitFailure)
	}
}

func (g *gateway) clean() {
	if g.member != nil {
		ctx, cancel := context.WithTimeout(context.Background(), leaveWait)
		defer cancel()
		if err := g.member.Close(ctx); err != nil {
			g.log.Warn("left the job queue too early", "error", err)
		}
	}
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
