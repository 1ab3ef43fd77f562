package config

import (
	"fmt"
	"strconv"
	"time"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/gpu"
	"pinion/runtime/supervise"
)

// Fleet is the settings of the number of workers, and of how they start and stop.
type Fleet struct {
	workers      workerCount
	gpus         string
	Ranks        int // processes of a worker; 0 means not said
	PredictLimit time.Duration
	HangTimeout  time.Duration
	MaxRequests  int
	MaxRSS       usertext.Bytes
	Renewal      string
	Preload      Preload
	Restart      string
	SetupRetries int
	WorkersGiven bool // by flag or variable
}

func (s *Fleet) settings() usertext.Settings {
	return usertext.Settings{
		{
			To: &s.workers, Name: "workers", Init: "1", Examples: []string{"1", autoWorkers}, Group: usertext.GroupWorkers,
			Common: true,
			Help:   "worker processes, or auto: one for each visible GPU, else 1",
		},
		{
			To: &s.gpus, Name: "gpus", Examples: []string{"all", "each"}, Group: usertext.GroupWorkers, Common: true,
			Help: `all: every worker sees all GPUs; each: one GPU each; or a list, "0;1;2,3"`, Default: "all",
		},
		{
			To: &s.Ranks, Name: "ranks", Min: 1, Max: maxRanks, Group: usertext.GroupWorkers, Default: "the model's, else 1",
			Help: "processes that run each prediction together, as torchrun starts them: for a model that is cut over several GPUs",
		},
		{
			To: &s.PredictLimit, Name: "predict-timeout", Group: usertext.GroupPredictions, Common: true,
			Help: "how long a prediction may run before it is canceled and fails; 0: any time",
		},
		{
			To: &s.HangTimeout, Name: "hang-timeout", Init: time.Minute, Group: usertext.GroupWorkers,
			Help: "how long a worker may show no sign of life, or not start a prediction that one of its free slots was given, " +
				"before it is replaced; a running prediction may take longer; 0: any time",
		},
		{
			To: &s.MaxRequests, Name: "max-requests", Group: usertext.GroupWorkers,
			Help: "replace a worker after this number of predictions; 0: never",
		},
		{
			To: &s.MaxRSS, Name: "max-rss", Group: usertext.GroupWorkers,
			Help: "replace a worker that uses more memory, as 8GiB; 0: never",
		},
		{
			To: &s.Renewal, Name: "reload-strategy", Init: string(supervise.StartFirst), Group: usertext.GroupWorkers,
			Words: []string{string(supervise.StartFirst), string(supervise.StopFirst)},
			Help: "start-first: a worker stops when its successor is ready; stop-first: it stops before its successor starts, " +
				"for models that fit into memory only once",
		},
		{
			To: &s.Preload, Name: "preload", Group: usertext.GroupWorkers, Alone: string(PreloadImports),
			Init: string(noPreload), Examples: []string{string(PreloadImports), string(PreloadSetup)},
			Help: "imports: import the model's modules once, in a preload process from which workers are forked; " +
				"setup: that process also runs the model's setup",
		},
		{
			To: &s.Restart, Name: "restart", Init: string(supervise.OnCrash), Group: usertext.GroupWorkers,
			Words: []string{string(supervise.OnCrash), string(supervise.Never)},
			Help:  "whether a worker that has died is replaced: on-crash or never",
		},
		{
			To: &s.SetupRetries, Name: "setup-retries", Group: usertext.GroupWorkers,
			Help: "how often a failed setup is retried until the first one succeeds",
			Idle: func() string { return when(s.Restart == string(supervise.Never), "with --restart never") },
		},
	}
}

// when returns why a setting has no effect, if it has none.
func when(isIdle bool, why string) string {
	if isIdle {
		return why
	}
	return ""
}

const maxRanks = 64

// Plan distributes the GPUs to workers of that many ranks.
func (s *Fleet) Plan(ranks int) (gpu.Plan, error) {
	plan, err := gpu.MakePlan(s.gpus, int(s.workers), s.WorkersGiven, ranks, gpu.Visible())
	if err != nil {
		return plan, fmt.Errorf("--gpus %s: %w", s.gpus, err)
	}
	if _, own := plan.Device(0); own && s.Preload == PreloadSetup {
		return plan, fmt.Errorf("--preload=setup with --gpus %s: one setup cannot run on the GPUs of several workers: "+
			"use --preload=imports", s.gpus)
	}
	return plan, nil
}

// Preload is what a preload process does before workers are forked from it. It implements pflag.Value.
type Preload string

const (
	noPreload      Preload = "false"
	PreloadImports Preload = "imports"
	PreloadSetup   Preload = "setup"
)

// On reports whether there is a preload process.
func (p *Preload) On() bool { return *p == PreloadImports || *p == PreloadSetup }

func (p *Preload) Set(v string) error {
	on := false
	switch err := usertext.ParseBool(&on, v); {
	case Preload(v) == PreloadImports || Preload(v) == PreloadSetup:
		*p = Preload(v)
	case err != nil:
		return fmt.Errorf("%q: must be imports, setup, true (which is imports) or false", v)
	case on:
		*p = PreloadImports
	default:
		*p = noPreload
	}
	return nil
}

func (p *Preload) String() string { return string(*p) }

func (p *Preload) Type() string { return "imports|setup" }

// Enum returns the values as pinion.yaml has them.
func (p *Preload) Enum() []any {
	return []any{true, false, string(PreloadImports), string(PreloadSetup)}
}

// CheckRanks says why a model that itself asks for several ranks cannot have them, or nil.
func (s *Fleet) CheckRanks(ranks int) error {
	if s.gpus == "each" {
		return fmt.Errorf("--gpus each has to know how many GPUs a worker gets before it starts: write ranks: %d in cog.yaml", ranks)
	}
	return nil
}

// workerCount is a number of workers; 0 is "auto". It implements pflag.Value.
type workerCount int

const autoWorkers = "auto"

func (c *workerCount) Set(v string) error {
	if v == autoWorkers {
		*c = 0
		return nil
	}
	return usertext.ParseInt((*int)(c), v, 1)
}

func (c *workerCount) String() string {
	if *c == 0 {
		return autoWorkers
	}
	return strconv.Itoa(int(*c))
}

func (c *workerCount) Type() string { return "int|auto" }
