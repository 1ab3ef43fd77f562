package inputs

import (
	"encoding/json"
	"fmt"
)

// Component is one of a document's schemas, as it stands there.
func Component(document []byte, name string) ([]byte, error) {
	schemas, err := Schemas[json.RawMessage](document)
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	found, ok := schemas[name]
	if !ok {
		return nil, fmt.Errorf("the document has no schema %s", name)
	}
	return found, nil
}

// Schemas are a document's schemas by name, as far as T has them.
func Schemas[T any](document []byte) (map[string]T, error) {
	var d struct {
		Components struct {
			Schemas map[string]T `json:"schemas"`
		} `json:"components"`
	}
	err := json.Unmarshal(document, &d)
	return d.Components.Schemas, err
}
