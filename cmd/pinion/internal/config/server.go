package config

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/logging"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/memory"
	"pinion/runtime/telemetry"
	"pinion/runtime/webhook"
)

// DefaultGrace is the default of --grace.
const DefaultGrace = 30 * time.Second

// The values of --busy-poll.
const (
	busyPollAuto = "auto"
	busyPollOff  = "off"
)

// Server is the flags and variables of 'pinion serve' that belong to the server, whichever model it serves.
type Server struct {
	Config                string // the file of models; "" means they are folders
	Port                  int
	PortVariable          string // the variable that says the port, or would
	sageMakerPort         int
	vertexPort            int
	threads               int // nothing reads it
	Exposure              Exposure
	failFast              usertext.OptionalBool
	Grace                 time.Duration
	Log                   logging.Settings
	busyPoll              string // auto or off
	MaxBody               int64
	StreamIdle            time.Duration
	MemoryBudget          usertext.Bytes // 0 means by the container's limit
	ModelsMemory          usertext.Bytes // what loaded models may have together, of the file of models; 0 means any
	Traffic               Traffic        // the shares of versions, of the file of models; nil means it has none
	Mirrors               []string       // the versions that get copies of requests, of that file
	AwaitExplicitShutdown bool
	DenyPrivate           bool
	DenyPrivateWebhooks   bool
	DownloadSize          int64
	DownloadFiles         int
	DownloadTimeout       time.Duration
	accessLines           int
	UserAgent             string
	WebhookToken          string
	WebhookKey            webhook.Key   // zero means none is given
	WebhookInterval       time.Duration // between two webhooks of logs; negative means none
	Telemetry             *telemetry.Config
	Sentry                *logging.SentryConfig // nil means errors are not reported
	Protocols             Protocols
	Jobs                  Jobs
	list                  usertext.Settings
	Warnings              []string // of Cog's variables with invalid values, and of flags without an effect
}

// noPort is the value of a port that is not served.
const noPort = -1

// BindFlags declares the flags, and sets what holds until they are given.
func (s *Server) BindFlags(f *pflag.FlagSet) {
	s.list = slices.Concat(s.settings(), s.Exposure.settings(), s.Protocols.settings(), s.Log.Settings(),
		s.Jobs.settings("URLs of NATS, which keeps accepted predictions until they have ended; embed or embed:DIR keeps them in "+
			"a folder of this host", "accepted predictions live in this process"))
	s.list.Bind(f)
}

func (s *Server) settings() usertext.Settings {
	port := portSetting(&s.Port)
	port.Idle = func() string { return when(s.Exposure.onSocket(), "with --host unix:/path") }
	return usertext.Settings{
		{
			To: &s.Config, Name: "config", IsRead: true, Group: usertext.GroupModel, Common: true,
			Help: "file of the models to serve and their settings, as pinion.yaml",
		},
		port,
		{
			To: &s.sageMakerPort, Variable: "SAGEMAKER_BIND_TO_PORT", Init: noPort, Max: usertext.MaxPort, Default: "none",
			Help: "SageMaker's port; it has precedence over `AIP_HTTP_PORT` and `PORT`",
		},
		{
			To: &s.vertexPort, Variable: "AIP_HTTP_PORT", Init: noPort, Max: usertext.MaxPort, Default: "none",
			Help: "Vertex AI's port; it has precedence over `PORT`",
		},
		{
			To: &s.failFast, Name: "fail-fast", Alone: "true", Group: usertext.GroupLog,
			Help:    "end with exit code 1 when the setup fails at the start",
			Default: "on a terminal, with one model and without --watch",
		},
		graceSetting(&s.Grace, "predictions"),
		{
			To: &s.busyPoll, Name: "busy-poll", Init: busyPollAuto, Words: []string{busyPollAuto, busyPollOff},
			Group: usertext.GroupWorkers,
			Help: "auto or off: poll for the next request on idle CPUs when requests arrive one by one, which answers them " +
				"sooner",
		},
		{
			To: &s.accessLines, Name: "access-log", Alone: strconv.Itoa(accessOnTerminal), Group: usertext.GroupLog,
			Help:    "log requests, up to this number of lines a second; without a number: 100",
			Default: "none, on a terminal 100 without probes",
		},
		maxBodySetting(&s.MaxBody),
		{
			To: &s.StreamIdle, Name: "stream-idle-timeout", Init: time.Minute, Min: 1, Group: usertext.GroupFiles,
			Help: "how long a client may send no item of a streamed input",
		},
		{
			To: &s.MemoryBudget, Name: "memory-budget", Group: usertext.GroupFiles,
			Help: "memory for what the server holds for its clients, as 512MiB; 0: a quarter of the container's memory, 1 GiB " +
				"at most",
		},
		{
			To: &s.AwaitExplicitShutdown, Name: "await-explicit-shutdown", Variable: usertext.NoVariable,
			Group: usertext.GroupLog,
			Help:  "ignore SIGTERM: only SIGINT and POST /shutdown end the server",
		},
		{
			To: &s.threads, Name: "threads", Variable: usertext.NoVariable, Min: math.MinInt64, Hidden: true,
			Help: "ignored, as by Cog's server",
		},
		{
			To: &s.DownloadSize, Name: "max-download", Variable: usertext.NoVariable, Init: 10 << 30, Min: 1, Group: usertext.GroupFiles,
			Help: "largest input file to download, in bytes",
		},
		{
			To: &s.DownloadFiles, Name: "max-downloads", Variable: usertext.NoVariable, Init: 1000, Min: 1, Group: usertext.GroupFiles,
			Help: "most files that one request may name",
		},
		{
			To: &s.DownloadTimeout, Name: "download-timeout", Variable: usertext.NoVariable, Init: 30 * time.Minute, Min: 1,
			Group: usertext.GroupFiles, Help: "how long one download may take",
		},
		{
			To: &s.DenyPrivate, Name: "deny-private-downloads", Group: usertext.GroupFiles,
			Help: "never download inputs from addresses that are not public",
		},
		denyWebhooksSetting(&s.DenyPrivateWebhooks, "webhooks, nor uploads to a request's output_file_prefix,"),
		{
			To: &s.WebhookInterval, Variable: "COG_THROTTLE_RESPONSE_INTERVAL", IsCogs: true, Default: "`0.5`",
			Help: "seconds between two webhooks of logs; 0: no limit",
		},
		{
			To: &s.UserAgent, Variable: "COG_USER_AGENT", IsCogs: true, Parse: usertext.ParseHeader, Default: "`pinion/VERSION`",
			Help: "User-Agent of downloads and uploads",
		},
		webhookTokenSetting(&s.WebhookToken), webhookKeySetting(&s.WebhookKey),
	}
}

// These are settings that a gateway has too.

func portSetting(to *int) usertext.Setting {
	return usertext.Setting{
		To: to, Name: "port", Short: "p", Variable: "PORT", IsCogs: true, Init: 5000, Max: usertext.MaxPort, Group: usertext.GroupAccess,
		Common: true, Help: "port to listen on; 0 picks a free one and prints it",
	}
}

func graceSetting(to *time.Duration, what string) usertext.Setting {
	return usertext.Setting{
		To: to, Name: "grace", Variable: usertext.NoVariable, Init: DefaultGrace, Group: usertext.GroupLog, Common: true,
		Help: "how long " + what + " in flight may go on after SIGINT or SIGTERM",
	}
}

func maxBodySetting(to *int64) usertext.Setting {
	return usertext.Setting{
		To: to, Name: "max-body", Variable: usertext.NoVariable, Init: 100 << 20, Min: 1, Group: usertext.GroupFiles,
		Help: "largest request body in bytes",
	}
}

func denyWebhooksSetting(to *bool, what string) usertext.Setting {
	return usertext.Setting{
		To: to, Name: "deny-private-webhooks", Group: usertext.GroupFiles,
		Help: "never send " + what + " to addresses that are not public",
	}
}

func webhookTokenSetting(to *string) usertext.Setting {
	return usertext.Setting{
		To: to, Variable: "WEBHOOK_AUTH_TOKEN", IsCogs: true, Parse: usertext.ParseHeader, Default: "none",
		Help: "bearer token that webhooks are sent with",
	}
}

func webhookKeySetting(to *webhook.Key) usertext.Setting {
	return usertext.Setting{
		To: (*webhookKey)(to), Variable: "PINION_WEBHOOK_SECRET", Default: "none",
		Help: "`whsec_` and base64: the key that [webhooks are signed with](webhooks.md#signature)",
	}
}

// webhookKey is the key that webhooks are signed with. It implements pflag.Value, and does not tell the key.
type webhookKey webhook.Key

func (k *webhookKey) Set(v string) error {
	key, err := webhook.ParseKey(v)
	*k = webhookKey(key)
	return err
}

func (k *webhookKey) String() string { return "" }

func (k *webhookKey) Type() string { return "string" }

// FromEnvironment fills what no flag has set. An invalid value of one of Pinion's variables is an error.
func (s *Server) FromEnvironment(f *pflag.FlagSet, env func(string) string) error {
	warnings, err := s.list.Read(f, env)
	if err != nil {
		return err
	}
	s.takePlatformPort(f)
	if s.WebhookInterval == 0 && s.list.Given(&s.WebhookInterval) {
		s.WebhookInterval = -1
	}
	if err := s.check(); err != nil {
		return err
	}
	s.Warnings = slices.Concat(s.Warnings, warnings, s.list.Idle(f))
	return nil
}

// takePlatformPort takes the port that SageMaker or Vertex AI wants. It has precedence over PORT, which an image may set.
func (s *Server) takePlatformPort(f *pflag.FlagSet) {
	s.PortVariable = "PORT"
	if f.Changed(s.list.Of(&s.Port).Name) {
		return
	}
	for _, port := range []*int{&s.sageMakerPort, &s.vertexPort} {
		if *port != noPort {
			s.Port, s.PortVariable = *port, s.list.Of(port).Variable
			return
		}
	}
}

func (s *Server) check() error {
	if s.MemoryBudget != 0 && s.MemoryBudget < memory.MinBudget {
		return fmt.Errorf("--memory-budget %d: must be 0 or at least %d bytes", s.MemoryBudget, memory.MinBudget)
	}
	return cmp.Or(s.Exposure.check(), s.Protocols.check())
}

// FailsFast reports whether a setup that fails at the start ends the server. In a container it stays up, so that its
// health tells why, and with --watch, because the next change may fix it.
func (s *Server) FailsFast(watch bool) bool {
	return s.failFast.Or(terminal.IsTerminal(os.Stderr) && !watch)
}

// Access returns how many lines a second are logged of requests, and whether those of probes are among them.
func (s *Server) Access() (lines int, probes bool) {
	if !s.list.Given(&s.accessLines) && s.Log.Console() && terminal.IsTerminal(os.Stderr) {
		return accessOnTerminal, false
	}
	return s.accessLines, true
}

const accessOnTerminal = 100

// WantsUsageHint reports whether a person watches the server at a terminal.
func (s *Server) WantsUsageHint() bool {
	return terminal.IsTerminal(os.Stderr) && s.Log.Format != "json"
}

// BusyPolls reports whether idle CPUs may poll for the next request.
func (s *Server) BusyPolls() bool { return s.busyPoll != busyPollOff }
