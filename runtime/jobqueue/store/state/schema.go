package state

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Schema is what a server writes of its model, for members that have no model: they check requests by it. The last
// server that wrote it counts.
type Schema struct {
	Version  int    `json:"v"`
	Revision string `json:"rev"` // of the rest
	// Model is the version of the model that this is of; "" means the model has none, or requests name none.
	Model     string `json:"version,omitempty"`
	Streaming bool   `json:"streaming"`
	Train     bool   `json:"train"`   // there is a train function
	Predict   bool   `json:"predict"` // there is a predict function beside it
	// OpenAPI is the model's document; nil means it is too large for a message, and requests are not checked by it.
	OpenAPI json.RawMessage `json:"openapi,omitempty"`
}

// schemaVersion is the version of Schema. One of a higher version is not read.
const schemaVersion = 1

// Revised returns s with its version and revision.
func (s Schema) Revised() Schema {
	s.Version, s.Revision = schemaVersion, ""
	text, _ := json.Marshal(&s) // a document that is not JSON has no revision of its own, and is not written
	sum := sha256.Sum256(text)
	s.Revision = base64.RawURLEncoding.EncodeToString(sum[:12])
	return s
}

// WriteSchema writes what this server has, unless it is stored already. The schema of a version expires, so it is
// written again.
func (q *Store) WriteSchema(ctx context.Context, s Schema) error {
	m := nats.NewMsg(q.Names.SchemaKey())
	var options []jetstream.PublishOpt
	if s.Model != "" {
		m.Subject = q.Names.versionSchemaKey(s.Model)
		options = append(options, jetstream.WithMsgTTL(versionKept))
	}
	now, err := q.readSchema(ctx, m.Subject)
	if err != nil || s.Model == "" && now.Revision == s.Revision {
		return err
	}
	if m.Data, err = json.Marshal(&s); err != nil {
		return fmt.Errorf("write the model's schema: %w", err)
	}
	if q.Objects.isLarge(m.Data) {
		s.OpenAPI = nil
		m.Data, _ = json.Marshal(&s) // of plain values
	}
	if _, err := q.JS.PublishMsg(ctx, m, options...); err != nil {
		return fmt.Errorf("write the model's schema: %w", err)
	}
	return nil
}

// ReadSchema returns what the last server wrote. A result without a Revision means that none has, or that a newer
// server wrote one that this member cannot read.
func (q *Store) ReadSchema(ctx context.Context) (Schema, error) {
	return q.readSchema(ctx, q.Names.SchemaKey())
}

// ReadVersions returns what servers wrote of the model's versions.
func (q *Store) ReadVersions(ctx context.Context) (schemas []Schema, err error) {
	info, err := q.States.Info(ctx, jetstream.WithSubjectFilter(q.Names.versionSchemaKey("*")))
	if err != nil {
		return nil, fmt.Errorf("list the model's versions: %w", err)
	}
	for key := range info.State.Subjects {
		s, err := q.readSchema(ctx, key)
		if err != nil {
			return nil, err
		}
		if s.Model != "" {
			schemas = append(schemas, s)
		}
	}
	return schemas, nil
}

func (q *Store) readSchema(ctx context.Context, key string) (Schema, error) {
	var s Schema
	m, err := q.States.GetLastMsgForSubject(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return s, nil
	case err != nil:
		return s, fmt.Errorf("read the model's schema: %w", err)
	}
	if json.Unmarshal(m.Data, &s) != nil || s.Version > schemaVersion {
		return Schema{}, nil
	}
	return s, nil
}
