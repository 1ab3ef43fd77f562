package main

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/limits"
	"pinion/cmd/pinion/internal/logsink"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/option"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/ipc"
	"pinion/runtime/memory"
	"pinion/runtime/supervise"
	"pinion/runtime/telemetry"
)

// settings are the flags and variables of 'pinion serve'. A flag overrides the variable, and the variable the default.
type settings struct {
	predictor, python, libPython string
	port, concurrency, queue     int
	portVariable                 string // the variable that says the port, or would
	exposure                     exposureSettings
	development                  developmentSettings
	setupTimeout, queueTimeout   time.Duration
	cancelGrace, grace           time.Duration
	restart                      string
	log                          logsink.Settings
	busyPoll                     string // auto or off
	maxBody                      int64
	memoryBudget                 option.Bytes // 0: by the container's limit
	awaitExplicitShutdown        bool
	denyPrivate                  bool
	denyPrivateWebhooks          bool
	downloadSize                 int64
	downloadFiles                int
	downloadTimeout, resultTTL   time.Duration
	uploadURL, mode              string
	accessLines                  int
	accessGiven                  bool // by flag or variable

	weights, userAgent string
	webhookToken       string
	webhookInterval    time.Duration // between two webhooks of logs; negative: none
	streamHistory      int           // events; negative: none
	noCUDA             bool
	noneDefaults       model.NoneDefaults
	fleet              fleetSettings
	batch              batchSettings
	validation         validationSettings
	telemetry          *telemetry.Config
	protocols          protocolSettings
	jobs               jobSettings
	warnings           []string // of Cog's variables with invalid values
}

// bindFlags declares the flags of 'pinion serve'.
func (s *settings) bindFlags(f *pflag.FlagSet) {
	f.IntVarP(&s.port, "port", "p", 5000, "port to listen on; 0 picks a free one and prints it (PORT)")
	s.exposure.bindFlags(f)
	s.development.bindFlags(f)
	f.StringVar(&s.predictor, "predictor", "", "the predictor, as FILE.py:CLASS or FILE.py:FUNCTION (default: cog.yaml's)")
	f.StringVar(&s.python, "python", "", "the Python interpreter (PINION_PYTHON; default: the virtual environment, else python3)")
	f.StringVar(&s.libPython, "libpython", "", "the shared library of that Python (default: found from the interpreter)")
	f.IntVar(&s.concurrency, "concurrency", 0, "predictions at once in a worker; above 1 needs async code (COG_MAX_CONCURRENCY; default: the model's)")
	s.noneDefaults.BindFlags(f)
	s.fleet.bindFlags(f)
	s.batch.bindFlags(f)
	s.validation.bindFlags(f)
	s.protocols.bindFlags(f)
	s.jobs.bindFlags(f)
	f.IntVar(&s.queue, "queue", 0, "how many predictions may wait for a slot (PINION_QUEUE)")
	f.DurationVar(&s.queueTimeout, "queue-timeout", 30*time.Second, "how long a prediction may wait for a slot (PINION_QUEUE_TIMEOUT)")
	f.DurationVar(&s.setupTimeout, "setup-timeout", 0, "how long setup may take; 0: any time (COG_SETUP_TIMEOUT, seconds)")
	f.DurationVar(&s.cancelGrace, "cancel-grace", 10*time.Second, "how long a cancelled prediction may go on before its worker is killed (PINION_CANCEL_GRACE)")
	f.DurationVar(&s.grace, "grace", 30*time.Second, "how long predictions in flight may go on after SIGINT or SIGTERM")
	f.StringVar(&s.restart, "restart", string(supervise.OnCrash), "on-crash or never: whether a dead worker is replaced (PINION_RESTART)")
	f.StringVar(&s.busyPoll, "busy-poll", limits.BusyPollAuto, "auto or off: whether idle CPUs poll for requests that come one by one, which answers them sooner (PINION_BUSY_POLL)")
	f.StringVar(&s.log.Level, "log-level", "info", "debug, info, warning or error (COG_LOG_LEVEL)")
	f.StringVar(&s.log.Format, "log-format", "", "json or console (LOG_FORMAT; default: console on a terminal)")
	f.IntVar(&s.accessLines, "access-log", 0, "log requests, up to this number of lines a second; without a number: 100 (PINION_ACCESS_LOG; default: none, on a terminal 100 without probes)")
	f.Lookup("access-log").NoOptDefVal = "100"
	f.Int64Var(&s.maxBody, "max-body", 100<<20, "largest request body in bytes")
	f.Var(&s.memoryBudget, "memory-budget", "memory for what the server holds for its clients, as 512MiB; 0: a quarter of the container's memory, 1 GiB at most (PINION_MEMORY_BUDGET)")
	f.BoolVar(&s.awaitExplicitShutdown, "await-explicit-shutdown", false, "ignore SIGTERM: only SIGINT and POST /shutdown end the server")
	f.DurationVar(&s.resultTTL, "result-ttl", 10*time.Minute, "how long GET /predictions/{id} answers for an ended prediction; 0: not at all")
	f.StringVar(&s.uploadURL, "upload-url", "", "URL prefix to which output files are uploaded with PUT (default: the answer holds them as data: URLs)")
	f.StringVar(&s.mode, "x-mode", "predict", "predict; or train, which loads the train function alone")
	f.Int("threads", 0, "ignored, as by Cog's server")
	_ = f.MarkHidden("threads")
	f.Int64Var(&s.downloadSize, "max-download", 10<<30, "largest input file to download, in bytes")
	f.IntVar(&s.downloadFiles, "max-downloads", 1000, "most files that one request may name")
	f.DurationVar(&s.downloadTimeout, "download-timeout", 30*time.Minute, "how long one download may take")
	f.BoolVar(&s.denyPrivate, "deny-private-downloads", false, "never download inputs from addresses that are not public (PINION_DENY_PRIVATE_DOWNLOADS)")
	f.BoolVar(&s.denyPrivateWebhooks, "deny-private-webhooks", false, "never send webhooks, nor uploads to a request's output_file_prefix, to addresses that are not public (PINION_DENY_PRIVATE_WEBHOOKS)")
}

// fromEnvironment fills what no flag has set. An invalid value of one of Pinion's variables is an error.
func (s *settings) fromEnvironment(f *pflag.FlagSet, env func(string) string) error {
	if err := s.platformPort(f, env); err != nil {
		return err
	}
	s.fromCog(f, env)
	s.weights = env("COG_WEIGHTS")

	s.accessGiven = f.Changed("access-log")
	ours := slices.Concat(
		s.fleet.variables(),
		s.batch.variables(),
		s.exposure.variables(),
		s.development.variables(),
		s.validation.variables(),
		s.protocols.variables(),
		s.jobs.variables(),
		[]ourVariable{
			{"python", "PINION_PYTHON", nil},                   // locate reads it, for it says where from
			{"none-defaults", model.NoneDefaultsVariable, nil}, // settleNoneDefaults reads it
			{"queue", "PINION_QUEUE", func(v string) error { return option.Int(&s.queue, v, 0) }},
			{"queue-timeout", "PINION_QUEUE_TIMEOUT", func(v string) error { return option.Seconds(&s.queueTimeout, v) }},
			{"memory-budget", "PINION_MEMORY_BUDGET", s.memoryBudget.Set},
			{"access-log", "PINION_ACCESS_LOG", func(v string) error { s.accessGiven = true; return option.Int(&s.accessLines, v, 0) }},
			{"cancel-grace", "PINION_CANCEL_GRACE", func(v string) error { return option.Seconds(&s.cancelGrace, v) }},
			{"busy-poll", "PINION_BUSY_POLL", func(v string) error { return option.SetChoice(&s.busyPoll, v, limits.BusyPollAuto, limits.BusyPollOff) }},
			{"restart", "PINION_RESTART", func(v string) error {
				return option.SetChoice(&s.restart, v, string(supervise.OnCrash), string(supervise.Never))
			}},
			{"deny-private-downloads", "PINION_DENY_PRIVATE_DOWNLOADS", func(v string) error { return option.Bool(&s.denyPrivate, v) }},
			{"deny-private-webhooks", "PINION_DENY_PRIVATE_WEBHOOKS", func(v string) error { return option.Bool(&s.denyPrivateWebhooks, v) }},
			{"", "PINION_CUDA", func(v string) error { return setCUDA(&s.noCUDA, v) }},
		},
	)
	if err := readVariables(f, env, ours); err != nil {
		return err
	}
	return s.check()
}

// fromCog reads Cog's variables. An invalid value is ignored with a warning, as Cog does.
func (s *settings) fromCog(f *pflag.FlagSet, env func(string) string) {
	if s.portVariable == "PORT" {
		s.cog(f, env, "port", "PORT", func(v string) error { return option.Port(&s.port, v) })
	}
	s.cog(f, env, "concurrency", "COG_MAX_CONCURRENCY", func(v string) error {
		err := option.Int(&s.concurrency, v, 1)
		if s.concurrency > ipc.MaxSlots { // Cog has no such limit
			s.warnings = append(s.warnings, fmt.Sprintf("COG_MAX_CONCURRENCY is %d: %d is used, the most that a worker has", s.concurrency, ipc.MaxSlots))
			s.concurrency = ipc.MaxSlots
		}
		return err
	})
	s.cog(f, env, "setup-timeout", "COG_SETUP_TIMEOUT", func(v string) error { return option.Seconds(&s.setupTimeout, v) })
	s.cog(f, env, "log-level", "COG_LOG_LEVEL", func(v string) error {
		if err := logsink.CheckLevel(v); err != nil {
			return err
		}
		s.log.Level = v
		return nil
	})
	s.cog(f, env, "log-format", "LOG_FORMAT", func(v string) error {
		if err := logsink.CheckFormat(v); err != nil {
			return err
		}
		s.log.Format = v
		return nil
	})
	s.cog(f, env, "", "COG_THROTTLE_RESPONSE_INTERVAL", func(v string) error {
		err := option.Seconds(&s.webhookInterval, v)
		if err == nil && s.webhookInterval == 0 {
			s.webhookInterval = -1
		}
		return err
	})
	s.cog(f, env, "", "COG_STREAM_HISTORY_CAPACITY", func(v string) error {
		err := option.Int(&s.streamHistory, v, 0)
		if err == nil && s.streamHistory == 0 {
			s.streamHistory = -1
		}
		return err
	})
	s.cog(f, env, "", "WEBHOOK_AUTH_TOKEN", func(v string) error { return option.Header(&s.webhookToken, v) })
	s.cog(f, env, "", "COG_USER_AGENT", func(v string) error { return option.Header(&s.userAgent, v) })
}

// platformPort takes the port that SageMaker or Vertex AI wants. It has precedence over PORT, which an image may set.
func (s *settings) platformPort(f *pflag.FlagSet, env func(string) string) error {
	s.portVariable = "PORT"
	for _, name := range []string{"SAGEMAKER_BIND_TO_PORT", "AIP_HTTP_PORT"} {
		v := env(name)
		if v == "" || f.Changed("port") {
			continue
		}
		s.portVariable = name
		if err := option.Port(&s.port, v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	return nil
}

func (s *settings) cog(f *pflag.FlagSet, env func(string) string, flag, name string, set func(string) error) {
	v := env(name)
	if v == "" || flag != "" && f.Changed(flag) {
		return
	}
	if err := set(v); err != nil {
		s.warnings = append(s.warnings, fmt.Sprintf("%s is ignored: %v", name, err))
	}
}

// findModel reads a model's folder and applies the settings that concern it.
func (s *settings) findModel(dir string) (*model.Model, error) {
	m, err := model.Find(dir, s.predictor, os.Getenv)
	if err != nil {
		return nil, err
	}
	return m, m.SettleNoneDefaults(s.noneDefaults)
}

// check refuses what no flag or variable may say.
func (s *settings) check() error {
	switch {
	case s.port < 0 || s.port > 65535:
		return fmt.Errorf("--port %d: a port is 0 to 65535", s.port)
	case s.concurrency < 0:
		return fmt.Errorf("--concurrency %d: it is at least 1", s.concurrency)
	case s.queue < 0:
		return fmt.Errorf("--queue %d: it is at least 0", s.queue)
	case s.accessLines < 0:
		return fmt.Errorf("--access-log %d: it is at least 0", s.accessLines)
	case s.maxBody < 1:
		return fmt.Errorf("--max-body %d: it is at least 1", s.maxBody)
	case s.memoryBudget != 0 && s.memoryBudget < memory.LeastBudget:
		return fmt.Errorf("--memory-budget %d: it is 0 or at least %d bytes", s.memoryBudget, memory.LeastBudget)
	case s.resultTTL < 0:
		return fmt.Errorf("--result-ttl %s: it is at least 0", s.resultTTL)
	case s.downloadSize < 1 || s.downloadFiles < 1 || s.downloadTimeout <= 0:
		return fmt.Errorf("--max-download, --max-downloads and --download-timeout are more than 0")
	case s.mode != "predict" && s.mode != "train":
		return fmt.Errorf("--x-mode %q: it is predict or train", s.mode)
	case s.uploadURL != "" && !isHTTP(s.uploadURL):
		return fmt.Errorf("--upload-url %q: it is an http or https URL", s.uploadURL)
	case s.busyPoll != limits.BusyPollAuto && s.busyPoll != limits.BusyPollOff:
		return fmt.Errorf("--busy-poll %q: it is %s or %s", s.busyPoll, limits.BusyPollAuto, limits.BusyPollOff)
	case s.restart != string(supervise.OnCrash) && s.restart != string(supervise.Never):
		return fmt.Errorf("--restart %q: it is on-crash or never", s.restart)
	}
	if err := s.fleet.check(); err != nil {
		return err
	}
	if err := s.batch.check(); err != nil {
		return err
	}
	if err := s.exposure.check(); err != nil {
		return err
	}
	if err := s.validation.check(); err != nil {
		return err
	}
	if err := s.protocols.check(); err != nil {
		return err
	}
	if err := s.jobs.check(s.resultTTL); err != nil {
		return err
	}
	if err := s.log.Check(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}

// keepFor is how long ended predictions are kept, as predict.Retention says it.
func (s *settings) keepFor() time.Duration {
	if s.resultTTL == 0 {
		return -1
	}
	return s.resultTTL
}

// access is how many lines a second are logged of requests, and whether those of probes are among them.
func (s *settings) access() (lines int, probes bool) {
	if !s.accessGiven && s.log.Console() && terminal.IsTerminal(os.Stderr) {
		return accessOnTerminal, false
	}
	return s.accessLines, true
}

// accessOnTerminal is how many lines a second a terminal gets.
const accessOnTerminal = 100

// isHTTP tells whether text is an absolute http or https URL.
func isHTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func setCUDA(off *bool, v string) error {
	if v != "off" && v != "on" {
		return fmt.Errorf("%q: it is on or off", v)
	}
	*off = v == "off"
	return nil
}
