package model

import (
	"os"

	"pinion/pyembed/locate"
)

// Difference is something that a source does. Unreadable means that the interpreter cannot read the file.
type Difference struct {
	Problem
	Unreadable bool `json:"unreadable"`
}

// ReadDifferences asks an interpreter for what the folder's source does that works in Cog and not here. packages are
// the names that the model's requirements list.
func ReadDifferences(dir string, packages []string, python *locate.Python) (found []Difference, err error) {
	request := map[string]any{"root": dir, "packages": fitting(packages)}
	err = runSDK(python, "model.differences", dir, WithoutSecrets(os.Environ()), request, readLimit, &found)
	return found, err
}

// KeyLine returns the line of a key of cog.yaml's build section; 0 if it has none.
func (c *CogYAMLReport) KeyLine(key string) int {
	if n := c.root.Get("build").Get(key); n != nil {
		return n.Line
	}
	return 0
}
