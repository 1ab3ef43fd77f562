package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestWeights_Lock: the lock is written in Cog's form, followed, and compared with cog.yaml.
func TestWeights_Lock(t *testing.T) {
	t.Parallel()
	files := harness.NewFolder(t, "a.bin", "aaaa", "b.bin", "bb")
	server := httptest.NewServer(http.FileServer(http.Dir(files)))
	defer server.Close()
	cogYAML := `run: run.py:Runner
weights:
  - {name: one, target: /src/weights/one, source: {uri: '` + server.URL + `/a.bin'}}
  - {name: two, target: weights/two, source: [more, '` + server.URL + `/b.bin']}
`
	dir := harness.NewFolder(t, "cog.yaml", cogYAML, "more/x.txt", "xyz", "run.py", "class Runner:\n    def run(self) -> str:\n        return ''\n")
	c := harness.CLI{Dir: dir, Env: []string{"PINION_CACHE_DIR=" + t.TempDir()}}
	set := func(text string) { harness.WriteFile(t, filepath.Join(dir, "cog.yaml"), text) }
	lock := filepath.Join(dir, "weights.lock")

	assert.Contains(t, "lock", c.Good(t, "weights", "lock"), "one: 1 file, 4 B, sha256:", "two: 2 files, 5 B, sha256:")
	text := harness.ReadFile(t, lock)
	assert.Contains(t, "lock", text, `"version": 1`, `"envelopeFormat": ""`, `"target": "/src/weights/one"`,
		`"source": {`, `"sources": [`, `"uri": "file://./more"`, `"fingerprint": "sha256:`, `"include": []`, `"digest": "sha256:`, `"layers": []`)
	assert.True(t, !strings.Contains(text, dir), "the lock has a path of this machine:\n%s", text)
	_, err := os.Stat(filepath.Join(dir, "weights"))
	assert.True(t, os.IsNotExist(err), "a lock places weights")
	c.Good(t, "weights", "lock")
	assert.Equal(t, "the lock of the same", harness.ReadFile(t, lock), text)

	assert.Contains(t, "status", c.Run(t, "weights", "status").Stdout, "one   pending  1      4 B", "two   pending")
	c.Good(t, "weights", "pull")
	assert.Contains(t, "status", c.Good(t, "weights", "status", "--json"),
		`"status": "ready"`, `"uri": "`+server.URL+`/a.bin"`, `"fingerprint": "sha256:`)

	// The source changes: what is locked is in the cache, and another machine refuses the new one.
	harness.WriteFile(t, filepath.Join(files, "a.bin"), "aaab")
	c.Good(t, "weights", "pull")
	elsewhere := harness.CLI{Dir: dir, Env: []string{"PINION_CACHE_DIR=" + t.TempDir()}}
	assert.NoError(t, os.RemoveAll(filepath.Join(dir, "weights")))
	assert.Contains(t, "pull", elsewhere.Bad(t, 1, "weights", "pull"), "cog.yaml:3: weights one: ", "wrong SHA-256")
	assert.Contains(t, "lock", elsewhere.Good(t, "weights", "lock"), "one: 1 file")
	elsewhere.Good(t, "weights", "pull")
	assert.Equal(t, "file", harness.ReadFile(t, filepath.Join(dir, "weights/one/a.bin")), "aaab")
	harness.WriteFile(t, lock, text)
	assert.Contains(t, "status", elsewhere.Run(t, "weights", "status").Stdout, "one   stale", "two   ready")

	// cog.yaml changes.
	set(strings.ReplaceAll(strings.ReplaceAll(cogYAML, "a.bin", "b.bin"), "name: two", "name: three"))
	for _, args := range [][]string{{"check"}, {"serve"}, {"weights", "pull"}} {
		result := c.Run(t, args...)
		assert.Contains(t, args[0], result.Stdout+result.Stderr,
			"weights.lock:6: it is of other weights one than line 3 of cog.yaml: source "+server.URL+"/a.bin, not "+server.URL+"/b.bin",
			"weights.lock:1: it has no weights three, which cog.yaml names in line 4",
			"it has weights \"two\", which cog.yaml does not name", "run 'pinion weights lock'")
	}
	assert.Contains(t, "status", c.Run(t, "weights", "status").Stdout, "one    stale", "three  pending", "two    orphaned")
	assert.Contains(t, "usage", c.Bad(t, 2, "weights", "prune"), "--keep is missing")
	assert.Contains(t, "prune", c.Good(t, "weights", "prune", "--keep", "0"), "3 files, ", "removed from", "0 B are left")
}
