package model

import (
	"encoding/json"
	"fmt"
	"os"

	"pinion/pyembed/locate"
)

// ReadDifferences asks an interpreter for what the folder's source does that works in Cog and not here. packages are the
// names that the model's requirements list.
func ReadDifferences(dir string, packages []string, python *locate.Python) ([]Problem, error) {
	request, err := json.Marshal(map[string]any{"root": dir, "packages": append([]string{}, packages...)})
	if err != nil {
		return nil, err
	}
	out, err := runSDK(python, "model.differences", dir, WithoutSecrets(os.Environ()), request, readLimit)
	if err != nil {
		return nil, err
	}
	var found []Problem
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("read the source with %s: it answered %.200q: %w", python.Executable, out, err)
	}
	return found, nil
}

// KeyLine is the line of a key of cog.yaml's build section; 0 where it has none.
func (c *CogYAMLReport) KeyLine(key string) int {
	if n := c.root.Get("build").Get(key); n != nil {
		return n.Line
	}
	return 0
}
