package config

import (
	"cmp"
	"fmt"
	"os"
	"slices"
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
	Exposure              Exposure
	failFast              usertext.OptionalBool
	Grace                 time.Duration
	Log                   logging.Settings
	busyPoll              string // auto or off
	MaxBody               int64
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
	accessGiven           bool // by flag or variable
	UserAgent             string
	WebhookToken          string
	WebhookKey            webhook.Key   // zero means none is given
	WebhookInterval       time.Duration // between two webhooks of logs; negative means none
	Telemetry             *telemetry.Config
	Sentry                *logging.SentryConfig // nil means errors are not reported
	Protocols             Protocols
	Jobs                  Jobs
	Warnings              []string // of Cog's variables with invalid values, and of flags without an effect
}

func (s *Server) BindFlags(f *pflag.FlagSet) {
	f.StringVar(&s.Config, "config", "", "file of the models to serve and their settings, as pinion.yaml (PINION_CONFIG)")
	f.IntVarP(&s.Port, "port", "p", 5000, "port to listen on; 0 picks a free one and prints it (PORT)")
	s.Exposure.bindFlags(f)
	f.Var(&s.failFast, "fail-fast",
		"end with exit code 1 when the setup fails at the start (PINION_FAIL_FAST; default: on a terminal, with one model and without --watch)")
	f.Lookup("fail-fast").NoOptDefVal = "true"
	s.Protocols.bindFlags(f)
	s.Jobs.bindFlags(f)
	f.DurationVar(&s.Grace, "grace", DefaultGrace, "how long predictions in flight may go on after SIGINT or SIGTERM")
	f.StringVar(&s.busyPoll, "busy-poll", busyPollAuto,
		"auto or off: poll for the next request on idle CPUs when requests arrive one by one, which answers them sooner (PINION_BUSY_POLL)")
	f.StringVar(&s.Log.Level, "log-level", "info", "debug, info, warning or error (COG_LOG_LEVEL)")
	f.StringVar(&s.Log.Format, "log-format", "", "json or console (LOG_FORMAT; default: console on a terminal)")
	f.IntVar(&s.accessLines, "access-log", 0,
		"log requests, up to this number of lines a second; without a number: 100 (PINION_ACCESS_LOG; default: none, on a terminal 100 without probes)")
	f.Lookup("access-log").NoOptDefVal = "100"
	f.Int64Var(&s.MaxBody, "max-body", 100<<20, "largest request body in bytes")
	f.Var(&s.MemoryBudget, "memory-budget",
		"memory for what the server holds for its clients, as 512MiB; 0: a quarter of the container's memory, 1 GiB at most (PINION_MEMORY_BUDGET)")
	f.BoolVar(&s.AwaitExplicitShutdown, "await-explicit-shutdown", false,
		"ignore SIGTERM: only SIGINT and POST /shutdown end the server")
	f.Int("threads", 0, "ignored, as by Cog's server")
	_ = f.MarkHidden("threads")
	f.Int64Var(&s.DownloadSize, "max-download", 10<<30, "largest input file to download, in bytes")
	f.IntVar(&s.DownloadFiles, "max-downloads", 1000, "most files that one request may name")
	f.DurationVar(&s.DownloadTimeout, "download-timeout", 30*time.Minute, "how long one download may take")
	f.BoolVar(&s.DenyPrivate, "deny-private-downloads", false,
		"never download inputs from addresses that are not public (PINION_DENY_PRIVATE_DOWNLOADS)")
	f.BoolVar(&s.DenyPrivateWebhooks, "deny-private-webhooks", false,
		"never send webhooks, nor uploads to a request's output_file_prefix, to addresses that are not public (PINION_DENY_PRIVATE_WEBHOOKS)")
}

// FromEnvironment fills what no flag has set. An invalid value of one of Pinion's variables is an error.
func (s *Server) FromEnvironment(f *pflag.FlagSet, env func(string) string) error {
	if err := s.platformPort(f, env); err != nil {
		return err
	}
	s.fromCog(f, env)
	s.accessGiven = f.Changed("access-log") || env("PINION_ACCESS_LOG") != ""
	ours := slices.Concat(
		s.Exposure.variables(f),
		s.Protocols.variables(f),
		s.Jobs.variables(f),
		variablesOf(f, "fail-fast", "memory-budget", "deny-private-downloads", "deny-private-webhooks"),
		numbers(f, 0, "access-log"),
		[]Variable{choice(f, "busy-poll", busyPollAuto, busyPollOff), webhookSecret(&s.WebhookKey)},
	)
	if err := ReadVariables(f, env, ours); err != nil {
		return err
	}
	if err := s.check(); err != nil { // which brings the names of protocols to their form
		return err
	}
	s.Warnings = append(s.Warnings, idleFlags(f, s.idleRules()...)...)
	return nil
}

// fromCog reads Cog's variables. An invalid value is ignored with a warning, as Cog does.
func (s *Server) fromCog(f *pflag.FlagSet, env func(string) string) {
	cog := cogVariables{f, env, &s.Warnings}
	if s.PortVariable == "PORT" {
		cog.read("port", "PORT", func(v string) error { return usertext.ParsePort(&s.Port, v) })
	}
	cog.read("log-level", "COG_LOG_LEVEL", s.Log.SetLevel)
	cog.read("log-format", "LOG_FORMAT", s.Log.SetFormat)
	cog.read("", "COG_THROTTLE_RESPONSE_INTERVAL", func(v string) error {
		err := usertext.ParseSeconds(&s.WebhookInterval, v)
		if err == nil && s.WebhookInterval == 0 {
			s.WebhookInterval = -1
		}
		return err
	})
	cog.read("", "WEBHOOK_AUTH_TOKEN", func(v string) error { return usertext.ParseHeader(&s.WebhookToken, v) })
	cog.read("", "COG_USER_AGENT", func(v string) error { return usertext.ParseHeader(&s.UserAgent, v) })
}

// platformPort takes the port that SageMaker or Vertex AI wants. It has precedence over PORT, which an image may set.
func (s *Server) platformPort(f *pflag.FlagSet, env func(string) string) error {
	s.PortVariable = "PORT"
	for _, name := range []string{"SAGEMAKER_BIND_TO_PORT", "AIP_HTTP_PORT"} {
		v := env(name)
		if v == "" || f.Changed("port") {
			continue
		}
		s.PortVariable = name
		if err := usertext.ParsePort(&s.Port, v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	return nil
}

func (s *Server) check() error {
	switch {
	case s.Port < 0 || s.Port > 65535:
		return fmt.Errorf("--port %d: must be 0 to 65535", s.Port)
	case s.accessLines < 0:
		return fmt.Errorf("--access-log %d: must be at least 0", s.accessLines)
	case s.MaxBody < 1:
		return fmt.Errorf("--max-body %d: must be at least 1", s.MaxBody)
	case s.MemoryBudget != 0 && s.MemoryBudget < memory.MinBudget:
		return fmt.Errorf("--memory-budget %d: must be 0 or at least %d bytes", s.MemoryBudget, memory.MinBudget)
	case s.DownloadSize < 1 || s.DownloadFiles < 1 || s.DownloadTimeout <= 0:
		return fmt.Errorf("--max-download, --max-downloads and --download-timeout must be more than 0")
	case s.busyPoll != busyPollAuto && s.busyPoll != busyPollOff:
		return fmt.Errorf("--busy-poll %q: must be %s or %s", s.busyPoll, busyPollAuto, busyPollOff)
	}
	if err := cmp.Or(notNegative("grace", s.Grace), s.Exposure.check(), s.Protocols.check()); err != nil {
		return err
	}
	if err := s.Log.Check(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}

// FailsFast reports whether a setup that fails at the start ends the server. In a container it stays up, so that its
// health tells why, and with --watch, because the next change may fix it.
func (s *Server) FailsFast(watch bool) bool {
	return s.failFast.Or(terminal.IsTerminal(os.Stderr) && !watch)
}

// Access returns how many lines a second are logged of requests, and whether those of probes are among them.
func (s *Server) Access() (lines int, probes bool) {
	if !s.accessGiven && s.Log.Console() && terminal.IsTerminal(os.Stderr) {
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
