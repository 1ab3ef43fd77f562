package settings

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/gateway"
	"pinion/cmd/pinion/internal/logging"
	"pinion/cmd/pinion/internal/option"
	"pinion/runtime/jobqueue/store"
)

// Gateway are the flags and variables of 'pinion gateway'.
type Gateway struct {
	port                           int
	exposure                       Exposure // its host and tokens
	model                          string
	jobs                           Jobs
	queueTimeout, resultTTL, grace time.Duration
	maxBody                        int64
	denyPrivateWebhooks            bool
	webhookToken                   string
	log                            logging.Settings
	warnings                       []string // of Cog's variables with invalid values
}

func (s *Gateway) BindFlags(f *pflag.FlagSet) {
	f.IntVarP(&s.port, "port", "p", 5000, "port to listen on; 0 picks a free one and prints it (PORT)")
	f.StringVar(&s.exposure.host, "host", "",
		"address to listen on, or unix:/path (PINION_HOST; default: 127.0.0.1, in a container 0.0.0.0)")
	f.StringVar(&s.exposure.AuthFile, "auth-token-file", "",
		"file of bearer tokens, one per line; requests without a token are refused (PINION_AUTH_TOKEN_FILE)")
	f.StringVar(&s.model, "model", "", "the model's name in the queue (PINION_MODEL)")
	s.jobs.bindFlags(f)
	f.Lookup("nats").Usage = "URLs of NATS, which keeps the jobs (PINION_NATS)"
	for _, name := range []string{"nats-sync", "overflow"} { // of servers
		_ = f.MarkHidden(name)
	}
	f.DurationVar(&s.queueTimeout, "queue-timeout", 30*time.Second,
		"how long a synchronous request may wait for a server (PINION_QUEUE_TIMEOUT)")
	f.DurationVar(&s.resultTTL, "result-ttl", 10*time.Minute,
		"how long GET /predictions/{id} answers for an ended prediction: twice --ack-wait to 24h")
	f.DurationVar(&s.grace, "grace", 30*time.Second, "how long requests in flight may go on after SIGINT or SIGTERM")
	f.Int64Var(&s.maxBody, "max-body", 100<<20, "largest request body in bytes")
	f.BoolVar(&s.denyPrivateWebhooks, "deny-private-webhooks", false,
		"never send webhooks to addresses that are not public (PINION_DENY_PRIVATE_WEBHOOKS)")
	f.StringVar(&s.log.Level, "log-level", "info", "debug, info, warning or error (COG_LOG_LEVEL)")
	f.StringVar(&s.log.Format, "log-format", "", "json or console (LOG_FORMAT; default: console on a terminal)")
}

// FromEnvironment fills what no flag has set.
func (s *Gateway) FromEnvironment(f *pflag.FlagSet, env func(string) string) error {
	variables := slices.Concat(
		s.jobs.variables(f),
		variablesOf(f, "host", "auth-token-file", "model", "queue-timeout", "deny-private-webhooks"),
	)
	cog := cogVariables{f, env, &s.warnings}
	cog.read("port", "PORT", func(v string) error { return option.Port(&s.port, v) })
	cog.read("log-level", "COG_LOG_LEVEL", s.log.SetLevel)
	cog.read("log-format", "LOG_FORMAT", s.log.SetFormat)
	cog.read("", "WEBHOOK_AUTH_TOKEN", func(v string) error { return option.Header(&s.webhookToken, v) })
	if err := ReadVariables(f, env, variables); err != nil {
		return err
	}
	return s.check()
}

func (s *Gateway) check() error {
	if err := s.exposure.checkHosts(); err != nil {
		return err
	}
	if !s.jobs.NATS.On() {
		return errors.New("--nats is missing: give the URL of NATS")
	}
	if _, embeds := s.jobs.NATS.Embeds(); embeds {
		return fmt.Errorf("--nats %s: the queue of one server has no room for a gateway: that server answers itself",
			s.jobs.NATS.urls[0])
	}
	if s.model == "" {
		return errors.New("--model is missing: give the model's name in the queue")
	}
	if err := store.CheckModel(s.model); err != nil {
		return fmt.Errorf("--model: %w", err)
	}
	if err := s.jobs.check(s.resultTTL); err != nil {
		return err
	}
	switch {
	case s.port < 0 || s.port > 65535:
		return fmt.Errorf("--port %d: a port is 0 to 65535", s.port)
	case s.maxBody < 1:
		return fmt.Errorf("--max-body %d: it is at least 1", s.maxBody)
	case s.queueTimeout <= 0 || s.grace <= 0:
		return errors.New("--queue-timeout and --grace are more than 0")
	}
	if err := s.log.Check(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}

// Options are those of the gateway, of settings that were checked.
func (s *Gateway) Options() gateway.Options {
	queue := s.jobs.Options(s.model, s.resultTTL)
	return gateway.Options{
		Host: s.exposure.Address(), Port: s.port, TokenFile: s.exposure.AuthFile,
		Queue: queue, Attempts: s.jobs.Attempts, TenantHeader: s.jobs.TenantHeader, ReplayPuts: s.jobs.ReplayPuts,
		Connect: func(changed func(error)) (*nats.Conn, error) {
			return s.jobs.NATS.Connect(queue.Model, queue.Server, changed)
		},
		QueueTimeout: s.queueTimeout, Grace: s.grace, MaxBody: s.maxBody,
		DenyPrivateWebhooks: s.denyPrivateWebhooks, WebhookToken: s.webhookToken,
		Log: s.log, Warnings: s.warnings, Version: version.Pinion, CogVersion: version.Cog,
	}
}
