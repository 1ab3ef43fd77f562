package config

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/ipc"
	"pinion/pyembed/locate"
	"pinion/runtime/gpu"
	"pinion/runtime/service"
	"pinion/runtime/supervise"
)

// Model is the flags and variables of 'pinion serve' that belong to one model: its code and Python, its workers and
// queue, what its predictions may do.
type Model struct {
	model.Flags
	Concurrency, Queue         int
	concurrencyGiven           bool // by the flag
	SetupTimeout, QueueTimeout time.Duration
	CancelGrace, ResultTTL     time.Duration
	Restart                    string
	UploadURL, Mode            string
	Watch                      bool
	Fleet                      Fleet
	Batch                      Batch
	outputs                    string // --validate-output
	NoWarmUp                   bool
	Loading                    Loading
	weights                    string
	StreamHistory              int // events; negative means none
	noCUDA                     bool
	Warnings                   []string // of Cog's variables with invalid values, and of flags without an effect
}

func (s *Model) BindFlags(f *pflag.FlagSet) {
	s.Flags.BindFlags(f)
	f.IntVar(&s.Concurrency, "concurrency", 0,
		"predictions at once in a worker: on one event loop, or on threads if the code is not async (COG_MAX_CONCURRENCY; default: the model's)")
	s.Fleet.bindFlags(f)
	s.Batch.bindFlags(f)
	f.StringVar(&s.outputs, "validate-output", "warn",
		"off, warn or error: what happens to an output that the return annotation does not allow; warn logs the first (PINION_VALIDATE_OUTPUT)")
	f.BoolVar(&s.NoWarmUp, "no-warm-up", false, "do not run the model's example after its setup (PINION_NO_WARM_UP)")
	s.Loading.bindFlags(f)
	f.IntVar(&s.Queue, "queue", 0,
		"how many predictions may wait for a slot; 0: none; with --nats only synchronous ones, for the others wait in the job queue (PINION_QUEUE)")
	f.DurationVar(&s.QueueTimeout, "queue-timeout", 30*time.Second,
		"how long a prediction may wait for a slot (PINION_QUEUE_TIMEOUT)")
	f.DurationVar(&s.SetupTimeout, "setup-timeout", 0, "how long setup may take; 0: any time (COG_SETUP_TIMEOUT, seconds)")
	f.DurationVar(&s.CancelGrace, "cancel-grace", 10*time.Second,
		"how long a canceled prediction may go on before its worker is killed (PINION_CANCEL_GRACE)")
	f.StringVar(&s.Restart, "restart", string(supervise.OnCrash),
		"whether a worker that has died is replaced: on-crash or never (PINION_RESTART)")
	f.DurationVar(&s.ResultTTL, "result-ttl", 10*time.Minute,
		"how long GET /predictions/{id} answers for an ended prediction; 0: not at all; with --nats twice --ack-wait to 24h")
	f.StringVar(&s.UploadURL, "upload-url", "",
		"URL prefix to which output files are uploaded with PUT (default: the answer holds them as data: URLs)")
	f.StringVar(&s.Mode, "x-mode", "predict", "predict, or train: serve only the train function")
	f.BoolVar(&s.Watch, "watch", false, "reload the model when its source or configuration changes (PINION_WATCH)")
}

// bindKeys declares the keys of a model in the file of --config: its flags, and the keys that only one of several
// models can have.
func (s *Model) bindKeys(f *pflag.FlagSet) {
	s.BindFlags(f)
	s.Loading.bindKeys(f)
}

// FromEnvironment sets what no flag has set. An invalid value of one of Pinion's variables is an error.
func (s *Model) FromEnvironment(f *pflag.FlagSet, env func(string) string) error {
	s.concurrencyGiven = f.Changed("concurrency")
	s.fromCog(f, env)
	s.weights = env("COG_WEIGHTS")
	s.Fleet.WorkersGiven = f.Changed("workers") || env("PINION_WORKERS") != ""
	if err := ReadVariables(f, env, s.variables(f)); err != nil {
		return err
	}
	s.Warnings = append(s.Warnings, idleFlags(f, s.idleRule())...)
	return s.check()
}

func (s *Model) variables(f *pflag.FlagSet) []Variable {
	return slices.Concat(
		s.Fleet.variables(f),
		s.Batch.variables(f),
		s.Loading.variables(f),
		variablesOf(f, "watch", "no-warm-up", "queue-timeout", "cancel-grace"),
		numbers(f, 0, "queue"),
		[]Variable{
			choice(f, "validate-output", "off", "warn", "error"),
			choice(f, "restart", string(supervise.OnCrash), string(supervise.Never)),
			{Name: "PINION_CUDA", Set: func(v string) error { return setCUDA(&s.noCUDA, v) }},
		},
	)
}

// fromCog reads Cog's variables. An invalid value is ignored with a warning, as Cog does.
func (s *Model) fromCog(f *pflag.FlagSet, env func(string) string) {
	cog := cogVariables{f, env, &s.Warnings}
	cog.read("concurrency", "COG_MAX_CONCURRENCY", func(v string) error {
		err := usertext.ParseInt(&s.Concurrency, v, 1)
		if s.Concurrency > ipc.MaxSlots { // Cog has no such limit
			s.Warnings = append(s.Warnings,
				fmt.Sprintf("COG_MAX_CONCURRENCY is %d: %d is used, the most that a worker has", s.Concurrency, ipc.MaxSlots))
			s.Concurrency = ipc.MaxSlots
		}
		return err
	})
	cog.read("setup-timeout", "COG_SETUP_TIMEOUT",
		func(v string) error { return usertext.ParseSeconds(&s.SetupTimeout, v) })
	cog.read("", "COG_STREAM_HISTORY_CAPACITY", func(v string) error {
		err := usertext.ParseInt(&s.StreamHistory, v, 0)
		if err == nil && s.StreamHistory == 0 {
			s.StreamHistory = -1
		}
		return err
	})
}

// Interpreter finds what the model is run with, before anything listens.
func (s *Model) Interpreter(m *model.Model) (python *locate.Python, plan gpu.Plan, err error) {
	if s.Mode == "train" && m.Train == "" {
		return nil, plan, fmt.Errorf("%s has no train function: write \"train: train.py:train\" into its cog.yaml", m.Dir)
	}
	if python, err = locate.Find(s.Locate(m.Dir)); err != nil {
		return nil, plan, err
	}
	plan, err = s.Fleet.Plan()
	return python, plan, err
}

func (s *Model) check() error {
	switch {
	case s.Concurrency < 0, s.Concurrency == 0 && s.concurrencyGiven:
		return fmt.Errorf("--concurrency %d: must be at least 1; without the flag the model says it", s.Concurrency)
	case s.Queue < 0:
		return fmt.Errorf("--queue %d: must be at least 0", s.Queue)
	case s.Mode != "predict" && s.Mode != "train":
		return fmt.Errorf("--x-mode %q: must be predict or train", s.Mode)
	case s.UploadURL != "" && !usertext.IsHTTP(s.UploadURL):
		return fmt.Errorf("--upload-url %q: must be an http or https URL", s.UploadURL)
	case s.Restart != string(supervise.OnCrash) && s.Restart != string(supervise.Never):
		return fmt.Errorf("--restart %q: must be on-crash or never", s.Restart)
	}
	err := cmp.Or(s.Fleet.check(), s.Batch.check(), notNegative("result-ttl", s.ResultTTL),
		notNegative("queue-timeout", s.QueueTimeout), notNegative("setup-timeout", s.SetupTimeout),
		notNegative("cancel-grace", s.CancelGrace))
	if err != nil {
		return err
	}
	if err := usertext.CheckChoice(s.outputs, "off", "warn", "error"); err != nil {
		return fmt.Errorf("--validate-output %w", err)
	}
	return s.Loading.check()
}

// OutputCheck returns --validate-output.
func (s *Model) OutputCheck() service.OutputCheck {
	return map[string]service.OutputCheck{
		"off": service.IgnoreOutputs, "warn": service.WarnOfOutputs,
		"error": service.RefuseOutputs,
	}[s.outputs]
}

// KeepFor returns how long ended predictions are kept, as predict.Retention says it.
func (s *Model) KeepFor() time.Duration {
	if s.ResultTTL == 0 {
		return -1
	}
	return s.ResultTTL
}

func setCUDA(off *bool, v string) error {
	if v != "off" && v != "on" {
		return fmt.Errorf("%q: must be on or off", v)
	}
	*off = v == "off"
	return nil
}
