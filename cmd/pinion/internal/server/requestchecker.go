package server

import (
	"log/slog"

	"pinion/ipc"
	"pinion/runtime/files"
	"pinion/runtime/jobqueue"
	"pinion/runtime/jobqueue/store"
	modelservice "pinion/runtime/service"
)

var _ jobqueue.Checker = requestChecker{}

// requestChecker checks requests by what the last server wrote of its model. It is a service that has no workers.
type requestChecker struct{ *modelservice.Service }

func newRequestChecker(f *files.Store, log *slog.Logger) requestChecker {
	return requestChecker{modelservice.New(modelservice.Options{Files: f, Logger: log})}
}

func (c requestChecker) SetSchema(s store.Schema) {
	c.Loaded(ipc.Loaded{Schema: s.OpenAPI, Streaming: s.Streaming, Train: s.Train, Predict: s.Predict})
}
