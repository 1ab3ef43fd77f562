package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/logging"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/webhook"
)

// Gateway is the flags and variables of 'pinion gateway'.
type Gateway struct {
	Port                           int
	Exposure                       Exposure // its host and tokens
	Models                         []string // of the queue; the first one is the default. Empty means all of them
	model                          string   // --model
	Protocols                      Protocols
	Jobs                           Jobs
	QueueTimeout, ResultTTL, Grace time.Duration
	MaxBody                        int64
	DenyPrivateWebhooks            bool
	WebhookToken                   string
	WebhookKey                     webhook.Key // zero means none is given
	Log                            logging.Settings
	Warnings                       []string // of Cog's variables with invalid values, and of flags without an effect
}

func (s *Gateway) BindFlags(f *pflag.FlagSet) {
	f.IntVarP(&s.Port, "port", "p", 5000, "port to listen on; 0 picks a free one and prints it (PORT)")
	f.StringVar(&s.Exposure.host, "host", "",
		"address to listen on, or unix:/path (PINION_HOST; default: 127.0.0.1, in a container 0.0.0.0)")
	f.StringVar(&s.Exposure.AuthFile, "auth-token-file", "",
		"file of bearer tokens, one per line; requests without a token are refused (PINION_AUTH_TOKEN_FILE)")
	f.StringArrayVar(&s.Exposure.AllowedHosts, "allowed-host", nil,
		"a name of the gateway at which its pages work over plain http, as gpu.example.com; may be repeated (IP addresses and local names always work)")
	f.StringVar(&s.model, "model", "", "the only model's name in the queue (PINION_MODEL)")
	f.StringSliceVar(&s.Models, "models", nil,
		"names of models in the queue; the first one is also at the root (PINION_MODELS; default: all that have a queue)")
	s.Protocols.bindNames(f)
	s.Jobs.bindFlags(f)
	f.Lookup("nats").Usage = "URLs of NATS, which keeps the jobs (PINION_NATS)"
	for _, name := range []string{"nats-sync", "overflow"} { // of servers
		_ = f.MarkHidden(name)
	}
	f.DurationVar(&s.QueueTimeout, "queue-timeout", 30*time.Second,
		"how long a synchronous request may wait for a server (PINION_QUEUE_TIMEOUT)")
	f.DurationVar(&s.ResultTTL, "result-ttl", 10*time.Minute,
		"how long GET /predictions/{id} answers for an ended prediction: twice --ack-wait to 24h")
	f.DurationVar(&s.Grace, "grace", 30*time.Second, "how long requests in flight may go on after SIGINT or SIGTERM")
	f.Int64Var(&s.MaxBody, "max-body", 100<<20, "largest request body in bytes")
	f.BoolVar(&s.DenyPrivateWebhooks, "deny-private-webhooks", false,
		"never send webhooks to addresses that are not public (PINION_DENY_PRIVATE_WEBHOOKS)")
	f.StringVar(&s.Log.Level, "log-level", "info", "debug, info, warning or error (COG_LOG_LEVEL)")
	f.StringVar(&s.Log.Format, "log-format", "", "json or console (LOG_FORMAT; default: console on a terminal)")
}

// FromEnvironment fills what no flag has set.
func (s *Gateway) FromEnvironment(f *pflag.FlagSet, env func(string) string) error {
	variables := slices.Concat(
		s.Jobs.variables(f), []Variable{webhookSecret(&s.WebhookKey)},
		variablesOf(f, "host", "auth-token-file", "model", "models", "queue-timeout", "deny-private-webhooks"),
		variablesOf(f, "protocols", "openai-strict"), numbers(f, 0, "grpc-port"),
	)
	cog := cogVariables{f, env, &s.Warnings}
	cog.read("port", "PORT", func(v string) error { return usertext.ParsePort(&s.Port, v) })
	cog.read("log-level", "COG_LOG_LEVEL", s.Log.SetLevel)
	cog.read("log-format", "LOG_FORMAT", s.Log.SetFormat)
	cog.read("", "WEBHOOK_AUTH_TOKEN", func(v string) error { return usertext.ParseHeader(&s.WebhookToken, v) })
	if err := ReadVariables(f, env, variables); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	s.Warnings = append(s.Warnings, idleFlags(f, s.Protocols.idleRule())...)
	return nil
}

func (s *Gateway) check() error {
	if err := s.Exposure.checkHosts(); err != nil {
		return err
	}
	if !s.Jobs.NATS.On() {
		return errors.New("--nats is missing: give the URL of NATS")
	}
	if _, embeds := s.Jobs.NATS.Embeds(); embeds {
		return fmt.Errorf("--nats %s: a gateway needs a NATS server: give its URL",
			s.Jobs.NATS.urls[0])
	}
	if err := s.checkModels(); err != nil {
		return err
	}
	if err := cmp.Or(s.Protocols.check(), s.Exposure.checkAllowedHosts()); err != nil {
		return err
	}
	if err := s.Jobs.check(s.ResultTTL); err != nil {
		return err
	}
	switch {
	case s.Port < 0 || s.Port > 65535:
		return fmt.Errorf("--port %d: must be 0 to 65535", s.Port)
	case s.MaxBody < 1:
		return fmt.Errorf("--max-body %d: must be at least 1", s.MaxBody)
	case s.QueueTimeout <= 0 || s.Grace <= 0:
		return errors.New("--queue-timeout and --grace must be more than 0")
	}
	if err := s.Log.Check(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}

// checkModels makes Models of both flags.
func (s *Gateway) checkModels() error {
	flag := "--models"
	if s.model != "" {
		if len(s.Models) > 0 {
			return fmt.Errorf("--model %s and --models %s: give one of them", s.model, strings.Join(s.Models, ","))
		}
		s.Models, flag = []string{s.model}, "--model"
	}
	for i, name := range s.Models {
		name = strings.TrimSpace(name)
		s.Models[i] = name
		if err := CheckQueued(name); err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
		if slices.Contains(s.Models[:i], name) {
			return fmt.Errorf("%s: %s is given twice", flag, name)
		}
	}
	return nil
}

// Alone reports whether the gateway serves only the model of --model, as a server of one model does.
func (s *Gateway) Alone() bool { return s.model != "" }
