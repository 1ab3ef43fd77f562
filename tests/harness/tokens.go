package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TokenFile returns a file with these lines, which only its owner may read.
func TokenFile(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	WriteTokens(t, path, lines...)
	return path
}

// WriteTokens replaces the file at path atomically, as a careful operator does.
func WriteTokens(t *testing.T, path string, lines ...string) {
	t.Helper()
	WriteFile(t, path+".new", strings.Join(lines, "\n"))
	assert.NoError(t, os.Rename(path+".new", path))
}
