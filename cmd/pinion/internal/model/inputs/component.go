package inputs

import (
	"encoding/json"
	"fmt"

	"pinion/runtime/schema"
)

// Component returns one of a document's schemas, as it stands there.
func Component(document []byte, name string) ([]byte, error) {
	d, err := schema.ReadDocument[json.RawMessage](document)
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	found, ok := d.Schemas[name]
	if !ok {
		return nil, fmt.Errorf("the document has no schema %s", name)
	}
	return found, nil
}
