package modelio

import (
	"encoding/json"
	"fmt"
)

// Component is one of a document's schemas, as it stands there.
func Component(document []byte, name string) ([]byte, error) {
	var d struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	found, ok := d.Components.Schemas[name]
	if !ok {
		return nil, fmt.Errorf("the document has no schema %s", name)
	}
	return found, nil
}
