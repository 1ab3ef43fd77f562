package model

import (
	"log/slog"
	"strings"
	"sync"

	"pinion/ipc"
)

// Override replaces the documents that workers make by the stored document, if the model has one.
type Override struct {
	Dir string
	Log *slog.Logger
	// Current returns the model as it was last read.
	Current func() *Model

	mu     sync.Mutex
	logged string // the differences that were logged last
}

// Before returns a callback for workers that have loaded the model. It replaces the document and calls next.
func (o *Override) Before(next func(ipc.Loaded)) func(ipc.Loaded) {
	return func(l ipc.Loaded) {
		stored, err := ReadStored(o.Dir)
		if stored != nil && o.Current().NoneDefaults == NoneOptional {
			stored, err = WithNoneDefaults(stored, l.Schema)
		}
		if err != nil {
			o.Log.Error("the model's own schema is not used", "error", err)
		} else if stored != nil {
			if !l.Excused { // a document for types that are refused differs on purpose
				o.compare(stored, l.Schema)
			}
			l.Schema = []byte(stored)
		}
		next(l)
	}
}

// compare logs the differences, once for all workers that load the same source.
func (o *Override) compare(stored, made []byte) {
	found := strings.Join(CompareSchemas(stored, made), "; ")
	o.mu.Lock()
	again := found == o.logged
	o.logged = found
	o.mu.Unlock()
	if found != "" && !again {
		o.Log.Warn("the model's own schema disagrees with its source, and is used", "file", StoredSchema, "differences",
			found)
	}
}
