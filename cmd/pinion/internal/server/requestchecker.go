package server

import (
	"log/slog"
	"sync/atomic"

	"pinion/ipc"
	"pinion/runtime/files"
	"pinion/runtime/jobqueue"
	"pinion/runtime/jobqueue/store/state"
	modelservice "pinion/runtime/service"
)

var _ jobqueue.Checker = requestChecker{}

// requestChecker checks requests by what the last server wrote of its model. It is a service that runs none, and never
// defunct.
type requestChecker struct {
	*modelservice.Service
	learned *atomic.Pointer[state.Schema] // nil means nothing yet
}

func newRequestChecker(f *files.Store, log *slog.Logger) requestChecker {
	return requestChecker{
		modelservice.New(modelservice.Options{Files: f, Logger: log}), new(atomic.Pointer[state.Schema]),
	}
}

func (c requestChecker) SetSchema(s state.Schema) {
	c.Loaded(ipc.Loaded{Schema: s.OpenAPI, Streaming: s.Streaming, Train: s.Train, Predict: s.Predict})
	c.learned.Store(&s)
}

// LoadOpenAPI is OpenAPI: there is nothing to load.
func (c requestChecker) LoadOpenAPI() ([]byte, bool) { return c.OpenAPI() }

// OpenAPI returns the document of the last server; false means none has written one.
func (c requestChecker) OpenAPI() ([]byte, bool) {
	if s := c.learned.Load(); s != nil {
		return s.OpenAPI, true
	}
	return nil, false
}

// HasTraining reports whether the model has a training interface. Before it is known, a server that has none fails the
// training.
func (c requestChecker) HasTraining() bool {
	s := c.learned.Load()
	return s == nil || s.Train
}
