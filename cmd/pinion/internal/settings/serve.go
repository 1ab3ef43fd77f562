package settings

import (
	"fmt"
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

// Serve are the flags and variables of 'pinion serve'. A flag overrides the variable, and the variable the default.
type Serve struct {
	predictor, Python, LibPython string
	Port, Concurrency, Queue     int
	PortVariable                 string // the variable that says the port, or would
	Exposure                     Exposure
	Development                  Development
	SetupTimeout, QueueTimeout   time.Duration
	CancelGrace, Grace           time.Duration
	Restart                      string
	Log                          logsink.Settings
	BusyPoll                     string // auto or off
	MaxBody                      int64
	MemoryBudget                 option.Bytes // 0: by the container's limit
	AwaitExplicitShutdown        bool
	DenyPrivate                  bool
	DenyPrivateWebhooks          bool
	DownloadSize                 int64
	DownloadFiles                int
	DownloadTimeout, ResultTTL   time.Duration
	UploadURL, Mode              string
	accessLines                  int
	accessGiven                  bool // by flag or variable

	weights, UserAgent string
	WebhookToken       string
	WebhookInterval    time.Duration // between two webhooks of logs; negative: none
	StreamHistory      int           // events; negative: none
	noCUDA             bool
	noneDefaults       model.NoneDefaults
	Fleet              Fleet
	Batch              Batch
	Validation         Validation
	Telemetry          *telemetry.Config
	Protocols          Protocols
	Jobs               Jobs
	Warnings           []string // of Cog's variables with invalid values
}

// BindFlags declares the flags of 'pinion serve'.
func (s *Serve) BindFlags(f *pflag.FlagSet) {
	f.IntVarP(&s.Port, "port", "p", 5000, "port to listen on; 0 picks a free one and prints it (PORT)")
	s.Exposure.bindFlags(f)
	s.Development.bindFlags(f)
	f.StringVar(&s.predictor, "predictor", "", "the predictor, as FILE.py:CLASS or FILE.py:FUNCTION (default: cog.yaml's)")
	f.StringVar(&s.Python, "python", "", "the Python interpreter (PINION_PYTHON; default: the virtual environment, else python3)")
	f.StringVar(&s.LibPython, "libpython", "", "the shared library of that Python (default: found from the interpreter)")
	f.IntVar(&s.Concurrency, "concurrency", 0, "predictions at once in a worker; above 1 needs async code (COG_MAX_CONCURRENCY; default: the model's)")
	s.noneDefaults.BindFlags(f)
	s.Fleet.bindFlags(f)
	s.Batch.bindFlags(f)
	s.Validation.bindFlags(f)
	s.Protocols.bindFlags(f)
	s.Jobs.bindFlags(f)
	f.IntVar(&s.Queue, "queue", 0, "how many predictions may wait for a slot (PINION_QUEUE)")
	f.DurationVar(&s.QueueTimeout, "queue-timeout", 30*time.Second, "how long a prediction may wait for a slot (PINION_QUEUE_TIMEOUT)")
	f.DurationVar(&s.SetupTimeout, "setup-timeout", 0, "how long setup may take; 0: any time (COG_SETUP_TIMEOUT, seconds)")
	f.DurationVar(&s.CancelGrace, "cancel-grace", 10*time.Second, "how long a cancelled prediction may go on before its worker is killed (PINION_CANCEL_GRACE)")
	f.DurationVar(&s.Grace, "grace", 30*time.Second, "how long predictions in flight may go on after SIGINT or SIGTERM")
	f.StringVar(&s.Restart, "restart", string(supervise.OnCrash), "on-crash or never: whether a dead worker is replaced (PINION_RESTART)")
	f.StringVar(&s.BusyPoll, "busy-poll", limits.BusyPollAuto, "auto or off: whether idle CPUs poll for requests that come one by one, which answers them sooner (PINION_BUSY_POLL)")
	f.StringVar(&s.Log.Level, "log-level", "info", "debug, info, warning or error (COG_LOG_LEVEL)")
	f.StringVar(&s.Log.Format, "log-format", "", "json or console (LOG_FORMAT; default: console on a terminal)")
	f.IntVar(&s.accessLines, "access-log", 0, "log requests, up to this number of lines a second; without a number: 100 (PINION_ACCESS_LOG; default: none, on a terminal 100 without probes)")
	f.Lookup("access-log").NoOptDefVal = "100"
	f.Int64Var(&s.MaxBody, "max-body", 100<<20, "largest request body in bytes")
	f.Var(&s.MemoryBudget, "memory-budget", "memory for what the server holds for its clients, as 512MiB; 0: a quarter of the container's memory, 1 GiB at most (PINION_MEMORY_BUDGET)")
	f.BoolVar(&s.AwaitExplicitShutdown, "await-explicit-shutdown", false, "ignore SIGTERM: only SIGINT and POST /shutdown end the server")
	f.DurationVar(&s.ResultTTL, "result-ttl", 10*time.Minute, "how long GET /predictions/{id} answers for an ended prediction; 0: not at all")
	f.StringVar(&s.UploadURL, "upload-url", "", "URL prefix to which output files are uploaded with PUT (default: the answer holds them as data: URLs)")
	f.StringVar(&s.Mode, "x-mode", "predict", "predict; or train, which loads the train function alone")
	f.Int("threads", 0, "ignored, as by Cog's server")
	_ = f.MarkHidden("threads")
	f.Int64Var(&s.DownloadSize, "max-download", 10<<30, "largest input file to download, in bytes")
	f.IntVar(&s.DownloadFiles, "max-downloads", 1000, "most files that one request may name")
	f.DurationVar(&s.DownloadTimeout, "download-timeout", 30*time.Minute, "how long one download may take")
	f.BoolVar(&s.DenyPrivate, "deny-private-downloads", false, "never download inputs from addresses that are not public (PINION_DENY_PRIVATE_DOWNLOADS)")
	f.BoolVar(&s.DenyPrivateWebhooks, "deny-private-webhooks", false, "never send webhooks, nor uploads to a request's output_file_prefix, to addresses that are not public (PINION_DENY_PRIVATE_WEBHOOKS)")
}

// FromEnvironment fills what no flag has set. An invalid value of one of Pinion's variables is an error.
func (s *Serve) FromEnvironment(f *pflag.FlagSet, env func(string) string) error {
	if err := s.platformPort(f, env); err != nil {
		return err
	}
	s.fromCog(f, env)
	s.weights = env("COG_WEIGHTS")

	s.accessGiven = f.Changed("access-log")
	ours := slices.Concat(
		s.Fleet.variables(),
		s.Batch.variables(),
		s.Exposure.variables(),
		s.Development.variables(),
		s.Validation.variables(),
		s.Protocols.variables(),
		s.Jobs.variables(),
		[]Variable{
			{"python", "PINION_PYTHON", nil},                   // locate reads it, for it says where from
			{"none-defaults", model.NoneDefaultsVariable, nil}, // settleNoneDefaults reads it
			{"queue", "PINION_QUEUE", func(v string) error { return option.Int(&s.Queue, v, 0) }},
			{"queue-timeout", "PINION_QUEUE_TIMEOUT", func(v string) error { return option.Seconds(&s.QueueTimeout, v) }},
			{"memory-budget", "PINION_MEMORY_BUDGET", s.MemoryBudget.Set},
			{"access-log", "PINION_ACCESS_LOG", func(v string) error { s.accessGiven = true; return option.Int(&s.accessLines, v, 0) }},
			{"cancel-grace", "PINION_CANCEL_GRACE", func(v string) error { return option.Seconds(&s.CancelGrace, v) }},
			{"busy-poll", "PINION_BUSY_POLL", func(v string) error { return option.SetChoice(&s.BusyPoll, v, limits.BusyPollAuto, limits.BusyPollOff) }},
			{"restart", "PINION_RESTART", func(v string) error {
				return option.SetChoice(&s.Restart, v, string(supervise.OnCrash), string(supervise.Never))
			}},
			{"deny-private-downloads", "PINION_DENY_PRIVATE_DOWNLOADS", func(v string) error { return option.Bool(&s.DenyPrivate, v) }},
			{"deny-private-webhooks", "PINION_DENY_PRIVATE_WEBHOOKS", func(v string) error { return option.Bool(&s.DenyPrivateWebhooks, v) }},
			{"", "PINION_CUDA", func(v string) error { return setCUDA(&s.noCUDA, v) }},
		},
	)
	if err := ReadVariables(f, env, ours); err != nil {
		return err
	}
	return s.check()
}

// fromCog reads Cog's variables. An invalid value is ignored with a warning, as Cog does.
func (s *Serve) fromCog(f *pflag.FlagSet, env func(string) string) {
	if s.PortVariable == "PORT" {
		s.cog(f, env, "port", "PORT", func(v string) error { return option.Port(&s.Port, v) })
	}
	s.cog(f, env, "concurrency", "COG_MAX_CONCURRENCY", func(v string) error {
		err := option.Int(&s.Concurrency, v, 1)
		if s.Concurrency > ipc.MaxSlots { // Cog has no such limit
			s.Warnings = append(s.Warnings, fmt.Sprintf("COG_MAX_CONCURRENCY is %d: %d is used, the most that a worker has", s.Concurrency, ipc.MaxSlots))
			s.Concurrency = ipc.MaxSlots
		}
		return err
	})
	s.cog(f, env, "setup-timeout", "COG_SETUP_TIMEOUT", func(v string) error { return option.Seconds(&s.SetupTimeout, v) })
	s.cog(f, env, "log-level", "COG_LOG_LEVEL", func(v string) error {
		if err := logsink.CheckLevel(v); err != nil {
			return err
		}
		s.Log.Level = v
		return nil
	})
	s.cog(f, env, "log-format", "LOG_FORMAT", func(v string) error {
		if err := logsink.CheckFormat(v); err != nil {
			return err
		}
		s.Log.Format = v
		return nil
	})
	s.cog(f, env, "", "COG_THROTTLE_RESPONSE_INTERVAL", func(v string) error {
		err := option.Seconds(&s.WebhookInterval, v)
		if err == nil && s.WebhookInterval == 0 {
			s.WebhookInterval = -1
		}
		return err
	})
	s.cog(f, env, "", "COG_STREAM_HISTORY_CAPACITY", func(v string) error {
		err := option.Int(&s.StreamHistory, v, 0)
		if err == nil && s.StreamHistory == 0 {
			s.StreamHistory = -1
		}
		return err
	})
	s.cog(f, env, "", "WEBHOOK_AUTH_TOKEN", func(v string) error { return option.Header(&s.WebhookToken, v) })
	s.cog(f, env, "", "COG_USER_AGENT", func(v string) error { return option.Header(&s.UserAgent, v) })
}

// platformPort takes the port that SageMaker or Vertex AI wants. It has precedence over PORT, which an image may set.
func (s *Serve) platformPort(f *pflag.FlagSet, env func(string) string) error {
	s.PortVariable = "PORT"
	for _, name := range []string{"SAGEMAKER_BIND_TO_PORT", "AIP_HTTP_PORT"} {
		v := env(name)
		if v == "" || f.Changed("port") {
			continue
		}
		s.PortVariable = name
		if err := option.Port(&s.Port, v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	return nil
}

func (s *Serve) cog(f *pflag.FlagSet, env func(string) string, flag, name string, set func(string) error) {
	v := env(name)
	if v == "" || flag != "" && f.Changed(flag) {
		return
	}
	if err := set(v); err != nil {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%s is ignored: %v", name, err))
	}
}

// FindModel reads a model's folder and applies the settings that concern it.
func (s *Serve) FindModel(dir string) (*model.Model, error) {
	m, err := model.Find(dir, s.predictor, os.Getenv)
	if err != nil {
		return nil, err
	}
	return m, m.SettleNoneDefaults(s.noneDefaults)
}

// check refuses what no flag or variable may say.
func (s *Serve) check() error {
	switch {
	case s.Port < 0 || s.Port > 65535:
		return fmt.Errorf("--port %d: a port is 0 to 65535", s.Port)
	case s.Concurrency < 0:
		return fmt.Errorf("--concurrency %d: it is at least 1", s.Concurrency)
	case s.Queue < 0:
		return fmt.Errorf("--queue %d: it is at least 0", s.Queue)
	case s.accessLines < 0:
		return fmt.Errorf("--access-log %d: it is at least 0", s.accessLines)
	case s.MaxBody < 1:
		return fmt.Errorf("--max-body %d: it is at least 1", s.MaxBody)
	case s.MemoryBudget != 0 && s.MemoryBudget < memory.LeastBudget:
		return fmt.Errorf("--memory-budget %d: it is 0 or at least %d bytes", s.MemoryBudget, memory.LeastBudget)
	case s.ResultTTL < 0:
		return fmt.Errorf("--result-ttl %s: it is at least 0", s.ResultTTL)
	case s.DownloadSize < 1 || s.DownloadFiles < 1 || s.DownloadTimeout <= 0:
		return fmt.Errorf("--max-download, --max-downloads and --download-timeout are more than 0")
	case s.Mode != "predict" && s.Mode != "train":
		return fmt.Errorf("--x-mode %q: it is predict or train", s.Mode)
	case s.UploadURL != "" && !option.IsHTTP(s.UploadURL):
		return fmt.Errorf("--upload-url %q: it is an http or https URL", s.UploadURL)
	case s.BusyPoll != limits.BusyPollAuto && s.BusyPoll != limits.BusyPollOff:
		return fmt.Errorf("--busy-poll %q: it is %s or %s", s.BusyPoll, limits.BusyPollAuto, limits.BusyPollOff)
	case s.Restart != string(supervise.OnCrash) && s.Restart != string(supervise.Never):
		return fmt.Errorf("--restart %q: it is on-crash or never", s.Restart)
	}
	if err := s.Fleet.check(); err != nil {
		return err
	}
	if err := s.Batch.check(); err != nil {
		return err
	}
	if err := s.Exposure.check(); err != nil {
		return err
	}
	if err := s.Validation.check(); err != nil {
		return err
	}
	if err := s.Protocols.check(); err != nil {
		return err
	}
	if err := s.Jobs.check(s.ResultTTL); err != nil {
		return err
	}
	if err := s.Log.Check(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}

// KeepFor is how long ended predictions are kept, as predict.Retention says it.
func (s *Serve) KeepFor() time.Duration {
	if s.ResultTTL == 0 {
		return -1
	}
	return s.ResultTTL
}

// Access is how many lines a second are logged of requests, and whether those of probes are among them.
func (s *Serve) Access() (lines int, probes bool) {
	if !s.accessGiven && s.Log.Console() && terminal.IsTerminal(os.Stderr) {
		return accessOnTerminal, false
	}
	return s.accessLines, true
}

// accessOnTerminal is how many lines a second a terminal gets.
const accessOnTerminal = 100

// WantsUsageHint tells whether a person watches the server at a terminal.
func (s *Serve) WantsUsageHint() bool {
	return terminal.IsTerminal(os.Stderr) && s.Log.Format != "json"
}

func setCUDA(off *bool, v string) error {
	if v != "off" && v != "on" {
		return fmt.Errorf("%q: it is on or off", v)
	}
	*off = v == "off"
	return nil
}
