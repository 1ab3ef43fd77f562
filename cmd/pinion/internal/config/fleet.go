package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/gpu"
	"pinion/runtime/supervise"
)

// Fleet is the flags and variables for the number of workers, and for how they start and stop.
type Fleet struct {
	workers      workerCount
	gpus         string
	PredictLimit time.Duration
	HangTimeout  time.Duration
	MaxRequests  int
	MaxRSS       usertext.Bytes
	Renewal      string
	Preload      bool
	SetupRetries int
	WorkersGiven bool // by flag or variable
}

func (s *Fleet) bindFlags(f *pflag.FlagSet) {
	s.workers = 1
	f.Var(&s.workers, "workers", "worker processes, or auto: one for each visible GPU, else 1 (PINION_WORKERS)")
	f.StringVar(&s.gpus, "gpus", "",
		`all: every worker sees all GPUs; each: one GPU each; or a list, "0;1;2,3" (PINION_GPUS; default: all)`)
	f.DurationVar(&s.PredictLimit, "predict-timeout", 0,
		"how long a prediction may run before it is canceled and fails; 0: any time (PINION_PREDICT_TIMEOUT)")
	f.DurationVar(&s.HangTimeout, "hang-timeout", time.Minute,
		"how long a worker may show no sign of life, or not start a prediction that one of its free slots was given, before it is replaced; a running prediction may take longer; 0: any time (PINION_HANG_TIMEOUT)")
	f.IntVar(&s.MaxRequests, "max-requests", 0,
		"replace a worker after this number of predictions; 0: never (PINION_MAX_REQUESTS)")
	f.Var(&s.MaxRSS, "max-rss", "replace a worker that uses more memory, as 8GiB; 0: never (PINION_MAX_RSS)")
	f.StringVar(&s.Renewal, "reload-strategy", string(supervise.StartFirst),
		"start-first: a worker stops when its successor is ready; stop-first: it stops before its successor starts, for models that fit into memory only once (PINION_RELOAD_STRATEGY)")
	f.BoolVar(&s.Preload, "preload", false,
		"import the model's modules once, in a preload process from which workers are forked (PINION_PRELOAD)")
	f.IntVar(&s.SetupRetries, "setup-retries", 0,
		"how often a failed setup is retried until the first one succeeds (PINION_SETUP_RETRIES)")
}

func (s *Fleet) variables(f *pflag.FlagSet) []Variable {
	return slices.Concat(
		variablesOf(f, "workers", "gpus", "predict-timeout", "hang-timeout", "max-rss", "preload"),
		numbers(f, 0, "max-requests", "setup-retries"),
		[]Variable{choice(f, "reload-strategy", string(supervise.StartFirst), string(supervise.StopFirst))},
	)
}

func (s *Fleet) check() error {
	switch {
	case s.MaxRequests < 0:
		return fmt.Errorf("--max-requests %d: must be at least 0", s.MaxRequests)
	case s.SetupRetries < 0:
		return fmt.Errorf("--setup-retries %d: must be at least 0", s.SetupRetries)
	case s.Renewal != string(supervise.StartFirst) && s.Renewal != string(supervise.StopFirst):
		return fmt.Errorf("--reload-strategy %q: must be start-first or stop-first", s.Renewal)
	}
	return cmp.Or(notNegative("predict-timeout", s.PredictLimit), notNegative("hang-timeout", s.HangTimeout))
}

// notNegative refuses a duration below 0.
func notNegative(flag string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("--%s %s: must be at least 0", flag, d)
	}
	return nil
}

func (s *Fleet) Plan() (gpu.Plan, error) {
	plan, err := gpu.MakePlan(s.gpus, int(s.workers), s.WorkersGiven, gpu.Visible())
	if err != nil {
		err = fmt.Errorf("--gpus %s: %w", s.gpus, err)
	}
	return plan, err
}

// workerCount is a number of workers; 0 is "auto". It implements pflag.Value.
type workerCount int

func (c *workerCount) Set(v string) error {
	if v == "auto" {
		*c = 0
		return nil
	}
	return usertext.ParseInt((*int)(c), v, 1)
}

func (c *workerCount) String() string {
	if *c == 0 {
		return "auto"
	}
	return strconv.Itoa(int(*c))
}

func (c *workerCount) Type() string { return "int|auto" }
