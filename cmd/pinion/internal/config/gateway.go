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
	list                           usertext.Settings
	Warnings                       []string // of Cog's variables with invalid values, and of flags without an effect
}

// BindFlags declares the flags, and sets what holds until they are given.
func (s *Gateway) BindFlags(f *pflag.FlagSet) {
	s.list = slices.Concat(s.Exposure.doors("the gateway"), s.Protocols.names(), s.Log.Settings(),
		s.Jobs.settings("URLs of NATS, which keeps the jobs", ""), usertext.Settings{
			portSetting(&s.Port),
			ModelSetting(&s.model, "the only model's name in the queue", ""),
			{
				To: &s.Models, Name: "models", Default: "all that have a queue",
				Help: "names of models in the queue; the first one is also at the root",
			},
			queueTimeoutSetting(&s.QueueTimeout, "a synchronous request may wait for a server"),
			resultTTLSetting(&s.ResultTTL, ": twice --ack-wait to 24h"),
			graceSetting(&s.Grace, "requests"), maxBodySetting(&s.MaxBody), denyWebhooksSetting(&s.DenyPrivateWebhooks, "webhooks"),
			webhookTokenSetting(&s.WebhookToken), webhookKeySetting(&s.WebhookKey),
		})
	for _, to := range []any{&s.Jobs.sync, &s.Jobs.Overflow} { // of servers
		s.list.Of(to).Hidden = true
	}
	s.list.Of(&s.QueueTimeout).Min, s.list.Of(&s.Grace).Min = 1, 1
	s.list.Bind(f)
}

// FromEnvironment fills what no flag has set.
func (s *Gateway) FromEnvironment(f *pflag.FlagSet, env func(string) string) error {
	warnings, err := s.list.Read(f, env)
	if err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	s.Warnings = slices.Concat(s.Warnings, warnings, s.list.Idle(f))
	return nil
}

func (s *Gateway) check() error {
	if !s.Jobs.NATS.On() {
		return errors.New("--nats is missing: give the URL of NATS")
	}
	if _, embeds := s.Jobs.NATS.Embeds(); embeds {
		return fmt.Errorf("--nats %s: a gateway needs a NATS server: give its URL", s.Jobs.NATS.urls[0])
	}
	return cmp.Or(s.checkModels(), s.Exposure.check(), s.Protocols.check(), s.Jobs.check(s.ResultTTL))
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
