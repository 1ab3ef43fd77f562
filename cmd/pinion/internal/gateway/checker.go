package gateway

import (
	"log/slog"

	"pinion/ipc"
	"pinion/runtime/files"
	"pinion/runtime/jobqueue"
	"pinion/runtime/jobqueue/store"
	modelservice "pinion/runtime/service"
)

var _ jobqueue.Checker = checker{}

// checker checks requests by what the last server wrote of its model. It is a service that has no workers.
type checker struct{ *modelservice.Service }

func newChecker(f *files.Store, log *slog.Logger) checker {
	return checker{modelservice.New(modelservice.Options{Files: f, Logger: log})}
}

func (c checker) Learn(s store.Schema) {
	c.Loaded(ipc.Loaded{Schema: s.OpenAPI, Streaming: s.Streaming, Train: s.Train, Predict: s.Predict})
}
