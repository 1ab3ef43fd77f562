package jobqueue

import (
	"bytes"
	"context"
	"sync"
	"time"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/predict"
)

// A gateway has no model. It checks requests by the schema that the last server wrote, so that a client whose input
// does not fit learns of it at once. The server that runs the job checks it again.

const (
	// tellEvery is how often a server looks whether its model's schema has changed.
	tellEvery = time.Second
	// learnEvery is how often a gateway looks for what servers wrote; learnSoon, while nothing is known.
	learnEvery, learnSoon = 5 * time.Second, time.Second
)

// written is what is known of the schema that the last server wrote.
type written struct {
	mu  sync.Mutex
	now store.Schema
}

// revision is that of the schema by which requests are checked; "": they are not.
func (w *written) revision() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now.Revision
}

// keepTelling writes the schema of this server's model when it is known, and when it has changed.
func (m *Member) keepTelling(ctx context.Context) error {
	var last store.Schema
	for {
		if s, ok := m.o.Schema(); ok && (m.schema.revision() == "" || !sameModel(&s, &last)) {
			last, s = s, s.Revised()
			if err := m.write(ctx, s); err != nil {
				return err
			}
		}
		select {
		case <-time.After(tellEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

func sameModel(a, b *store.Schema) bool {
	return a.Streaming == b.Streaming && a.Train == b.Train && a.Predict == b.Predict && bytes.Equal(a.OpenAPI, b.OpenAPI)
}

func (m *Member) write(ctx context.Context, s store.Schema) error {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	if err := m.queue.Load().WriteSchema(ctx, s); err != nil {
		return err
	}
	m.schema.mu.Lock()
	defer m.schema.mu.Unlock()
	m.schema.now = s
	return nil
}

// keepLearning reads what servers write.
func (m *Member) keepLearning(ctx context.Context) error {
	for {
		if _, err := m.learn(ctx); err != nil {
			return err
		}
		wait := learnEvery
		if m.schema.revision() == "" {
			wait = learnSoon
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

// learn reads what the last server wrote; true: it has changed.
func (m *Member) learn(ctx context.Context) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	s, err := m.queue.Load().ReadSchema(ctx)
	if err != nil {
		return false, err
	}
	if s.OpenAPI == nil {
		s.Revision = ""
	}
	w := &m.schema
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.Revision == w.now.Revision {
		return false, nil
	}
	if s.Revision != "" {
		m.o.Checker.Learn(s)
	}
	w.now = s
	return true, nil
}

// check validates a request, and returns its input as clients see it. A gateway asks for a newer schema before it
// refuses a request.
func (m *Member) check(req *predict.Request) (input []byte, warnings []string, err error) {
	switch {
	case m.o.Local != nil:
		return m.o.Local.Check(req, mostInput)
	case m.o.Checker == nil || m.schema.revision() == "":
		return nil, nil, nil
	}
	for {
		again := *req // Check changes it
		if input, warnings, err = m.o.Checker.Check(&again, mostInput); err == nil {
			*req = again
			return input, warnings, nil
		}
		if _, away := m.open(); away != nil {
			return nil, nil, err
		}
		changed, failed := m.learn(context.Background())
		switch {
		case failed != nil, !changed:
			return nil, nil, err
		case m.schema.revision() == "":
			return nil, nil, nil
		}
	}
}
