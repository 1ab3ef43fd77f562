package config

import (
	"cmp"
	"errors"
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
)

// Model is the flags and variables of 'pinion serve' that belong to one model: its code and Python, its workers and
// queue, what its predictions may do.
type Model struct {
	model.Flags
	Concurrency, Queue         int
	SetupTimeout, QueueTimeout time.Duration
	WeightsTimeout             time.Duration
	CancelGrace, ResultTTL     time.Duration
	UploadURL, Mode            string
	Watch                      bool
	Fleet                      Fleet
	Batch                      Batch
	outputs                    string // --validate-output
	NoWarmUp                   bool
	Loading                    Loading
	weights                    string
	StreamHistory              int    // events; negative means none
	cuda                       string // on or off
	list                       usertext.Settings
	Warnings                   []string // of Cog's variables with invalid values, and of flags without an effect
}

// BindFlags declares the flags, and sets what holds until they are given.
func (s *Model) BindFlags(f *pflag.FlagSet) {
	s.list = s.settings()
	s.list.Bind(f)
}

// bindKeys declares the keys of a model in the file of --config: its flags, and the keys that only one of several models can have.
func (s *Model) bindKeys(f *pflag.FlagSet) {
	s.list = append(s.settings(), s.Loading.keys()...)
	s.list.Bind(f)
}

func (s *Model) settings() usertext.Settings {
	others := slices.Concat(s.Flags.Settings(), s.Fleet.settings(), s.Batch.settings(), s.Loading.settings())
	return append(others, usertext.Settings{
		{
			To: &s.Concurrency, Name: "concurrency", Variable: "COG_MAX_CONCURRENCY", IsCogs: true, Min: 1,
			Group:   usertext.GroupWorkers,
			Help:    "predictions at once in a worker: on one event loop, or on threads if the code is not async",
			Default: "the model's", Common: true,
		},
		{
			To: &s.outputs, Name: "validate-output", Init: "warn", Words: []string{"off", "warn", "error"},
			Group: usertext.GroupModel,
			Help:  "off, warn or error: what happens to an output that the return annotation does not allow; warn logs the first",
		},
		{
			To: &s.NoWarmUp, Name: "no-warm-up", Group: usertext.GroupModel,
			Help: "do not run the model's example after its setup",
		},
		{
			To: &s.Queue, Name: "queue", Group: usertext.GroupPredictions, Common: true,
			Help: "how many predictions may wait for a slot; 0: none; with --nats only synchronous ones, for the others wait in " +
				"the job queue",
		},
		queueTimeoutSetting(&s.QueueTimeout, "a prediction may wait for a slot"),
		{
			To: &s.SetupTimeout, Name: "setup-timeout", Variable: "COG_SETUP_TIMEOUT", IsCogs: true,
			Group: usertext.GroupWorkers,
			Help:  "how long setup may take, from when the weights are there; 0: any time",
		},
		{
			To: &s.WeightsTimeout, Name: "weights-timeout", Group: usertext.GroupWorkers,
			Help: "how long the weights of cog.yaml may take to be there; 0: any time",
		},
		{
			To: &s.CancelGrace, Name: "cancel-grace", Init: 10 * time.Second, Group: usertext.GroupPredictions,
			Help: "how long a canceled prediction may go on before its worker is killed",
		},
		resultTTLSetting(&s.ResultTTL, "; 0: not at all; with --nats twice --ack-wait to 24h"),
		{
			To: &s.UploadURL, Name: "upload-url", Variable: usertext.NoVariable, Group: usertext.GroupFiles,
			Help:    "URL prefix to which output files are uploaded with PUT",
			Default: "the answer holds them as data: URLs",
			Parse: func(v string) (string, error) {
				if !usertext.IsHTTP(v) {
					return "", fmt.Errorf("%q: must be an http or https URL", v)
				}
				return v, nil
			},
		},
		{
			To: &s.Mode, Name: "x-mode", Variable: usertext.NoVariable, Init: "predict", Words: []string{"predict", "train"},
			Group: usertext.GroupModel, Help: "predict, or train: serve only the train function",
		},
		{
			To: &s.Watch, Name: "watch", Group: usertext.GroupWorkers, Common: true,
			Help: "reload the model when its source or configuration changes",
		},
		{
			To: &s.cuda, Variable: "PINION_CUDA", Init: "on", Words: []string{"on", "off"}, Default: "`on`",
			Help: "`off`: the worker leaves the CUDA driver alone",
		},
		{
			To: &s.weights, Variable: "COG_WEIGHTS", Default: "none",
			Help: "a URL or path for the `weights` argument of `setup`",
		},
		{
			To: &s.StreamHistory, Variable: "COG_STREAM_HISTORY_CAPACITY", IsCogs: true, Default: "`1024`",
			Help: "events that a late subscriber of a stream still gets; 0: none",
		},
	}...)
}

// These are settings that a gateway has too.

func queueTimeoutSetting(to *time.Duration, what string) usertext.Setting {
	return usertext.Setting{
		To: to, Name: "queue-timeout", Init: 30 * time.Second, Group: usertext.GroupPredictions, Help: "how long " + what,
	}
}

func resultTTLSetting(to *time.Duration, bounds string) usertext.Setting {
	return usertext.Setting{
		To: to, Name: "result-ttl", Variable: usertext.NoVariable, Init: 10 * time.Minute, Group: usertext.GroupPredictions,
		Help: "how long GET /predictions/{id} answers for an ended prediction" + bounds,
	}
}

// FromEnvironment sets what no flag has set. An invalid value of one of Pinion's variables is an error.
func (s *Model) FromEnvironment(f *pflag.FlagSet, env func(string) string) error {
	warnings, err := s.list.Read(f, env)
	if err != nil {
		return err
	}
	if s.Concurrency > ipc.MaxSlots && !f.Changed(s.list.Of(&s.Concurrency).Name) { // Cog has no such limit
		warnings = append(warnings,
			fmt.Sprintf("COG_MAX_CONCURRENCY is %d: %d is used, the most that a worker has", s.Concurrency, ipc.MaxSlots))
		s.Concurrency = ipc.MaxSlots
	}
	if s.StreamHistory == 0 && s.list.Given(&s.StreamHistory) {
		s.StreamHistory = -1
	}
	s.Fleet.WorkersGiven = s.list.Given(&s.Fleet.workers)
	s.Warnings = slices.Concat(s.Warnings, warnings, s.list.Idle(f))
	s.list = nil // models are compared by their values
	return nil
}

// Interpreter finds what the model is run with, before anything listens.
func (s *Model) Interpreter(m *model.Model) (python *locate.Python, plan gpu.Plan, err error) {
	if s.Mode == "train" && m.Train == "" {
		return nil, plan, fmt.Errorf("%s has no train function: write \"train: train.py:train\" into its cog.yaml", m.Dir)
	}
	if python, err = locate.Find(s.Locate(m.Dir)); err != nil {
		return nil, plan, err
	}
	ranks := s.RanksOf(m)
	if ranks > 1 {
		switch concurrency := cmp.Or(s.Concurrency, m.Concurrency); {
		case s.Fleet.Preload.On():
			return nil, plan, errors.New("--preload cannot be combined with ranks: the model reads RANK when it is imported; leave --preload out")
		case concurrency > 1:
			name := "--concurrency"
			if s.Concurrency == 0 {
				name = "concurrency.max:"
			}
			return nil, plan, fmt.Errorf("%s %d cannot be combined with ranks: a worker of %d ranks runs one prediction at a time; "+
				"use --workers", name, concurrency, ranks)
		}
	}
	plan, err = s.Fleet.Plan(ranks)
	return python, plan, err
}

// RanksOf returns how many processes a worker of the model is; 0 means that the model's code may say it.
func (s *Model) RanksOf(m *model.Model) int { return cmp.Or(s.Fleet.Ranks, m.Ranks) }

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
