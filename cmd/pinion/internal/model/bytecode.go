package model

import (
	"os"
	"path/filepath"
	"strings"
)

// DropBytecode removes the bytecode of changed files. Python takes it for good where a source file has the length and
// the time, in seconds, that it had: so quick an edit would not be seen.
func DropBytecode(dir string, names []string) {
	for _, name := range names {
		stem, isPython := strings.CutSuffix(filepath.Base(name), ".py")
		if !isPython {
			continue
		}
		cache := filepath.Join(dir, filepath.Dir(name), "__pycache__")
		entries, _ := os.ReadDir(cache) // where there is none nothing is to be removed
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), stem+".cpython-") && strings.HasSuffix(entry.Name(), ".pyc") {
				_ = os.Remove(filepath.Join(cache, entry.Name())) // or Python decides by the time
			}
		}
	}
}
