package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/rawjson"
)

// StoredSchema is where a model may bring its own document, below its folder.
const StoredSchema = ".cog/openapi_schema.json"

// ReadStored returns the document that a model brings, or nil. A file without content is none: `pinion schema > FILE`
// finds it so.
func ReadStored(dir string) (json.RawMessage, error) {
	file := filepath.Join(dir, filepath.FromSlash(StoredSchema))
	data, err := usertext.ReadFile(file, usertext.MaxSchema)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	data = bytes.TrimSpace(data)
	if err == nil && len(data) == 0 {
		return nil, nil
	}
	if err == nil {
		err = rawjson.Check(data)
	}
	if err == nil && rawjson.KindOf(data) != rawjson.KindObject {
		err = errors.New("it holds no JSON object")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w; fix it, or remove it to have the schema made from the source", file,
			usertext.Reason(err))
	}
	return data, nil
}
