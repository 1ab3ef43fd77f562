package modelhost

import (
	"log/slog"
	"sync/atomic"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/process"
	"pinion/runtime/files"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/slot"
	"pinion/runtime/supervise"
	"pinion/runtime/trace"
	"pinion/runtime/webhook"
)

// Options is what a server gives its models.
type Options struct {
	Config  *config.Server
	Several bool // the models' names are in metrics, logs and traces
	Logger  *slog.Logger
	Tracer  *trace.Tracer // nil means traces are off

	RunDir   *process.RunDir
	Orphans  *supervise.Orphans
	Memory   *memory.Budget
	Files    *files.Store
	Webhooks *webhook.Sender
	BusyPoll func() slot.BusyPoll

	Models func() []*Model // all that have workers or may get some
	Calls  func(model string) func(of []*predict.Prediction, fd int)
	Reload func() // a model is about to be reloaded
	Quiet  func() // no prediction is in flight
}

// Host is what the models of a server share.
type Host struct {
	o        Options
	sdk      sdkFolder
	image    process.Binary
	retained *predict.Retained
	evicting chan struct{} // holds a token while memory is freed for a model, or distributed
	limit    atomic.Int64  // of the memory that the loaded models have together, in bytes; 0 means any
}

// New makes a host. It finds what workers are started from: the binary and the cog package.
func New(o Options) (h *Host, err error) {
	h = &Host{
		o: o, evicting: make(chan struct{}, 1), sdk: sdkFolder{run: o.RunDir},
		retained: predict.NewRetained(predict.Retention{Memory: o.Memory, OnQuiet: o.Quiet}),
	}
	if h.image, err = process.FindBinary(); err != nil {
		return nil, err
	}
	_, err = h.sdk.find()
	return h, err
}

// SetLimit bounds the memory that the loaded models have together; 0 means any.
func (h *Host) SetLimit(bytes int64) { h.limit.Store(bytes) }
