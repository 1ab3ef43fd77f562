package jobqueue

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"pinion/runtime/jobqueue/store/state"
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

// knownSchemas is what is known of the schemas that servers wrote last: of the model, and of its versions.
type knownSchemas struct {
	mu        sync.Mutex
	byVersion map[string]state.Schema
}

// of returns the schema against which requests that name a version, or ("") none, are checked. If it has no Revision,
// they are not checked.
func (k *knownSchemas) of(version string) state.Schema {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byVersion[version]
}

// set replaces a schema, and reports whether it differs.
func (k *knownSchemas) set(s state.Schema) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byVersion == nil {
		k.byVersion = map[string]state.Schema{}
	}
	before := k.byVersion[s.Model].Revision
	k.byVersion[s.Model] = s
	return s.Revision != before
}

// forget has a server write the schemas again.
func (k *knownSchemas) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.byVersion)
}

// rewriteInterval is how often the schema of a version is written again, because it expires.
const rewriteInterval = 24 * time.Hour

// publishSchema writes the schemas of this server's model and its versions when they are known, and when they have
// changed.
func (m *Member) publishSchema(ctx context.Context) error {
	written := map[string]time.Time{}
	for {
		for _, version := range m.versions() {
			s, ok := m.o.Schema(version)
			known := m.schemas.of(version)
			old := version != "" && time.Since(written[version]) > rewriteInterval
			if !ok || known.Revision != "" && sameModel(&s, &known) && !old {
				continue
			}
			s.Model = version
			if err := m.writeSchema(ctx, s.Revised()); err != nil {
				return err
			}
			written[version] = time.Now()
		}
		select {
		case <-time.After(publishInterval):
		case <-ctx.Done():
			return nil
		}
	}
}

// versions returns "" and the versions of the model that this server has.
func (m *Member) versions() []string {
	versions := []string{""}
	if m.o.Versions != nil {
		versions = slices.AppendSeq(versions, maps.Keys(m.o.Versions()))
	}
	return versions
}

func sameModel(a, b *state.Schema) bool {
	return a.Streaming == b.Streaming && a.Train == b.Train && a.Predict == b.Predict && bytes.Equal(a.OpenAPI, b.OpenAPI)
}

func (m *Member) writeSchema(ctx context.Context, s state.Schema) error {
	ctx, cancel := context.WithTimeout(ctx, natsTimeout)
	defer cancel()
	if err := m.queue.Load().State.WriteSchema(ctx, s); err != nil {
		return err
	}
	m.schemas.set(s)
	return nil
}

// watchSchema reads what servers write.
func (m *Member) watchSchema(ctx context.Context) error {
	for {
		if err := m.refreshVersions(ctx); err != nil {
			return err
		}
		if err := m.refreshSchema(ctx); err != nil {
			return err
		}
		wait := watchInterval
		if m.schemas.of("").Revision == "" {
			wait = firstWatchInterval
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

// refreshSchema reads what the last server wrote of the model.
func (m *Member) refreshSchema(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, natsTimeout)
	defer cancel()
	s, err := m.queue.Load().State.ReadSchema(ctx)
	if err == nil {
		m.learn(s)
	}
	return err
}

// LearnSchema has the Checker know what the last server has written of the model. It waits for a NATS that does not
// answer, as requests do.
func (m *Member) LearnSchema() {
	ask, err := m.ask(0, time.Time{})
	if err != nil {
		return
	}
	s, err := ask.q.State.ReadSchema(ask)
	ask.done(err)
	if err == nil {
		m.learn(s)
	}
}

// refreshVersions reads what servers wrote of the model's versions.
func (m *Member) refreshVersions(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, natsTimeout)
	defer cancel()
	schemas, err := m.queue.Load().State.ReadVersions(ctx)
	for _, s := range schemas {
		m.learn(s)
	}
	return err
}

// learn notes a schema that a server wrote.
func (m *Member) learn(s state.Schema) {
	if s.OpenAPI == nil && s.Model == "" {
		s.Revision = ""
	}
	if m.schemas.set(s) && s.Revision != "" {
		m.o.Checker.SetSchema(s)
	}
}

// check validates a request, and returns its input as clients see it. A gateway asks for a newer schema before it
// refuses a request.
func (m *Member) check(req *predict.Request) (input []byte, warnings []string, err error) {
	switch known := m.schemas.of(req.Version); {
	case m.o.Local != nil:
		return m.o.Local.Check(req, maxShownInput)
	case m.o.Checker == nil || known.Revision == "" || known.OpenAPI == nil:
		return nil, nil, nil
	}
	for {
		attempt := *req // Check changes it
		if input, warnings, err = m.o.Checker.Check(&attempt, maxShownInput); err == nil {
			*req = attempt
			return input, warnings, nil
		}
		if _, unavailable := m.reached(); unavailable != nil {
			return nil, nil, err
		}
		before := m.schemas.of(req.Version).Revision
		if m.refreshVersions(context.Background()) != nil {
			return nil, nil, err
		}
		if m.refreshSchema(context.Background()) != nil {
			return nil, nil, err
		}
		switch m.schemas.of(req.Version).Revision {
		case before:
			return nil, nil, err
		case "":
			return nil, nil, nil
		}
	}
}
