package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/interrupts"
	"pinion/cmd/pinion/internal/limits"
	"pinion/cmd/pinion/internal/listener"
	"pinion/cmd/pinion/internal/logsink"
	"pinion/cmd/pinion/internal/rundir"
	"pinion/cmd/pinion/internal/tokenfile"
	"pinion/cmd/pinion/internal/usage"
	"pinion/httpd"
	"pinion/runtime/files"
	"pinion/runtime/jobs"
	"pinion/runtime/metrics"
	"pinion/runtime/queued"
	"pinion/runtime/webhook"
)

const gatewayHelp = `Answer the HTTP API of a model without the model: every request waits in the model's job queue until a server of pinion serve
--nats runs it. So predictions are accepted while no server runs. Several gateways may stand side by side. No Python is needed.

  pinion gateway --nats nats://localhost:4222 --model ocr`

func newGateway() *cobra.Command {
	var s gatewaySettings
	cmd := &cobra.Command{
		Use: "gateway", Short: "Accept requests into a model's job queue, without the model", Long: gatewayHelp, Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.fromEnvironment(cmd.Flags(), os.Getenv); err != nil {
				return misused(err)
			}
			return runGateway(&s)
		},
	}
	s.bindFlags(cmd.Flags())
	return cmd
}

// gateway is the wired gateway.
type gateway struct {
	s        *gatewaySettings
	log      *slog.Logger
	dir      *rundir.Dir
	files    *files.Store
	webhooks *webhook.Sender
	member   *queued.Member
	http     *httpd.Server
	ln       net.Listener
	signals  <-chan os.Signal
}

func runGateway(s *gatewaySettings) error {
	log, sink := s.log.Open()
	defer sink.Flush(logsink.FlushTimeout)
	limits.ApplyMemory(0)
	g := &gateway{s: s, log: log, signals: interrupts.Watch(false)}
	defer g.clean()
	if err := g.open(sink); err != nil {
		var other *jobs.MismatchError
		if errors.As(err, &other) {
			return misused(err)
		}
		return failed(err)
	}
	if code := g.run(); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// open wires the gateway and joins the queue.
func (g *gateway) open(sink *logsink.Sink) (err error) {
	s := g.s
	if g.dir, err = rundir.Make(); err != nil {
		return err
	}
	go g.dir.KeepFresh()
	budget := limits.NewBudget(0)
	if g.files, err = files.New(files.Options{Root: g.dir.Files(), Remake: g.dir.RemakeFiles, UserAgent: "pinion/" + version, Logger: g.log}); err != nil {
		return err
	}
	g.webhooks = webhook.New(webhook.Options{
		Memory: budget, AuthToken: s.webhookToken, UserAgent: "pinion/" + version, Logger: g.log, DenyPrivate: s.denyPrivateWebhooks,
	})
	var auth *tokenfile.File
	if s.exposure.authFile != "" {
		if auth, err = tokenfile.Open(s.exposure.authFile, g.log); err != nil {
			return err
		}
	}
	set := metrics.New(metrics.Options{
		Version: version, Model: func() (string, string) { return "", "" }, Load: func() metrics.Load { return metrics.Load{} },
		Jobs: func() *metrics.Jobs { return jobsNow(g.member) }, Trainings: func() int { return 0 }, Workers: func() []metrics.Worker { return nil }, DroppedLogs: sink.Dropped,
	})
	g.http = httpd.New(gatewayService{g}, httpd.Options{
		MaxBody: s.maxBody, Logger: g.log, CogVersion: cogVersion, ModelName: s.model, Metrics: httpd.MetricsHandler(set), OnRequest: set.Request,
		Tokens: auth.Tokens(), Memory: budget, Spool: spool(g.files), NoShutdown: true,
	})
	o := s.jobs.options(s.model, s.resultTTL)
	g.member, err = queued.Join(queued.Options{
		Connect: func(changed func(error)) (*nats.Conn, error) { return s.jobs.nats.connect(o.Model, o.Server, changed) },
		Queue:   o, Attempts: s.jobs.attempts, Read: g.http.ReadBody, Memory: budget, Webhooks: g.webhooks, Logger: g.log,
	})
	if err != nil {
		return err
	}
	g.http.SetQueue(jobQueue{g.member}, httpd.QueueOptions{TenantHeader: s.jobs.tenantHeader, All: true, Wait: s.queueTimeout})
	var address string
	if g.ln, address, err = listener.Listen(s.exposure.address(), s.port, listener.PortSetting{Flag: "-p", Variable: "PORT"}); err != nil {
		return err
	}
	g.log.Info("listening", "address", address, "model", s.model)
	return nil
}

// run answers until a signal; it returns the exit code.
func (g *gateway) run() int {
	served := make(chan error, 1)
	go func() { served <- g.http.Serve(g.ln) }()
	select {
	case sig := <-g.signals:
		g.log.Info("shutting down", "signal", sig.String(), "grace", g.s.grace.String())
		ctx, cancel := context.WithTimeout(context.Background(), g.s.grace)
		defer cancel()
		go func() { // a second signal ends it at once
			select {
			case <-g.signals:
				cancel()
			case <-ctx.Done():
			}
		}()
		if err := g.http.Shutdown(ctx); err != nil {
			g.log.Warn("connections were closed with requests in flight", "error", err)
			return exitInterrupted
		}
		return exitOK
	case err := <-served:
		g.log.Error("the gateway's socket failed", "error", err)
		return exitFailure
	}
}

// clean undoes open.
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

// errNoQueue is why a gateway is not ready.
func errNoQueue(why string) error { return fmt.Errorf("the job queue cannot be used: %s", why) }

// gatewayGrace is how long requests in flight may go on by default.
const gatewayGrace = 30 * time.Second
