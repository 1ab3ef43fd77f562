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
	// publishInterval is how often a server checks whether its model's schema has changed.
	publishInterval = time.Second
	// watchInterval is how often a gateway reads what servers wrote; firstWatchInterval, while nothing is known.
	watchInterval, firstWatchInterval = 5 * time.Second, time.Second
)

// knownSchema is what is known of the schema that the last server wrote.
type knownSchema struct {
	mu      sync.Mutex
	current store.Schema
}

// revision is that of the schema by which requests are checked; "": they are not.
func (w *knownSchema) revision() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current.Revision
}

// publishSchema writes the schema of this server's model when it is known, and when it has changed.
func (m *Member) publishSchema(ctx context.Context) error {
	var last store.Schema
	for {
		if s, ok := m.o.Schema(); ok && (m.schema.revision() == "" || !sameModel(&s, &last)) {
			last, s = s, s.Revised()
			if err := m.writeSchema(ctx, s); err != nil {
				return err
			}
		}
		select {
		case <-time.After(publishInterval):
		case <-ctx.Done():
			return nil
		}
	}
}

func sameModel(a, b *store.Schema) bool {
	return a.Streaming == b.Streaming && a.Train == b.Train && a.Predict == b.Predict && bytes.Equal(a.OpenAPI, b.OpenAPI)
}

func (m *Member) writeSchema(ctx context.Context, s store.Schema) error {
	ctx, cancel := context.WithTimeout(ctx, natsTimeout)
	defer cancel()
	if err := m.queue.Load().WriteSchema(ctx, s); err != nil {
		return err
	}
	m.schema.mu.Lock()
	defer m.schema.mu.Unlock()
	m.schema.current = s
	return nil
}

// watchSchema reads what servers write.
func (m *Member) watchSchema(ctx context.Context) error {
	for {
		if _, err := m.refreshSchema(ctx); err != nil {
			return err
		}
		wait := watchInterval
		if m.schema.revision() == "" {
			wait = firstWatchInterval
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

// refreshSchema reads what the last server wrote; true: it has changed.
func (m *Member) refreshSchema(ctx context.Context) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, natsTimeout)
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
	if s.Revision == w.current.Revision {
		return false, nil
	}
	if s.Revision != "" {
		m.o.Checker.SetSchema(s)
	}
	w.current = s
	return true, nil
}

// check validates a request, and returns its input as clients see it. A gateway asks for a newer schema before it
// refuses a request.
func (m *Member) check(req *predict.Request) (input []byte, warnings []string, err error) {
	switch {
	case m.o.Local != nil:
		return m.o.Local.Check(req, maxShownInput)
	case m.o.Checker == nil || m.schema.revision() == "":
		return nil, nil, nil
	}
	for {
		attempt := *req // Check changes it
		if input, warnings, err = m.o.Checker.Check(&attempt, maxShownInput); err == nil {
			*req = attempt
			return input, warnings, nil
		}
		if _, unavailable := m.open(); unavailable != nil {
			return nil, nil, err
		}
		changed, learnErr := m.refreshSchema(context.Background())
		switch {
		case learnErr != nil, !changed:
			return nil, nil, err
		case m.schema.revision() == "":
			return nil, nil, nil
		}
	}
}
