package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"pinion/runtime/rawjson"
	"pinion/runtime/supervise"
)

// storedSchema is where a model may bring its own document, below its folder.
const storedSchema = ".cog/openapi_schema.json"

// readStored is the document that a model brings, or nil.
func readStored(dir string) (json.RawMessage, error) {
	file := filepath.Join(dir, filepath.FromSlash(storedSchema))
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		data = bytes.TrimSpace(data)
		err = rawjson.Check(data)
	}
	if err == nil && rawjson.KindOf(data) != rawjson.KindObject {
		err = errors.New("it holds no JSON object")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w; mend it, or remove it to have the schema made from the source", file, err)
	}
	return data, nil
}

// storedDocument has the document that a model brings stand in for those that its workers make.
type storedDocument struct {
	dir     string
	log     *slog.Logger
	current func() *model // as it was last read

	mu   sync.Mutex
	said string // the differences that were last told of
}

// first is a callback for a worker that has loaded the model.
func (s *storedDocument) first(next func(supervise.Loaded)) func(supervise.Loaded) {
	return func(l supervise.Loaded) {
		stored, err := readStored(s.dir)
		if stored != nil && s.current().NoneDefaults == noneOptional {
			stored, err = withNoneDefaults(stored, l.Schema)
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
	found := strings.Join(compareSchemas(stored, made), "; ")
	s.mu.Lock()
	again := found == s.said
	s.said = found
	s.mu.Unlock()
	if found != "" && !again {
		s.log.Warn("the model's own schema disagrees with its source, and is used", "file", storedSchema, "differences", found)
	}
}
