package main

import (
	"log/slog"
	"strings"
	"sync"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/schemadiff"
	"pinion/ipc"
)

// storedDocument has the document that a model brings stand in for those that its workers make.
type storedDocument struct {
	dir     string
	log     *slog.Logger
	current func() *model.Model // as it was last read

	mu   sync.Mutex
	said string // the differences that were logged last
}

// first is a callback for a worker that has loaded the model.
func (s *storedDocument) first(next func(ipc.Loaded)) func(ipc.Loaded) {
	return func(l ipc.Loaded) {
		stored, err := model.ReadStored(s.dir)
		if stored != nil && s.current().NoneDefaults == model.NoneOptional {
			stored, err = model.WithNoneDefaults(stored, l.Schema)
		}
		if err != nil {
			s.log.Error("the model's own schema is not used", "error", err)
		} else if stored != nil {
			if !l.Excused { // what stands in for types that are refused is meant to differ
				s.compare(stored, l.Schema)
			}
			l.Schema = []byte(stored)
		}
		next(l)
	}
}

// compare logs what differs, once for all workers that load the same source.
func (s *storedDocument) compare(stored, made []byte) {
	found := strings.Join(schemadiff.Compare(stored, made), "; ")
	s.mu.Lock()
	again := found == s.said
	s.said = found
	s.mu.Unlock()
	if found != "" && !again {
		s.log.Warn("the model's own schema disagrees with its source, and is used", "file", model.StoredSchema, "differences", found)
	}
}
