package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestWeights_PullStatusVerify: weights come, are seen, checked and repaired, without Python.
func TestWeights_PullStatusVerify(t *testing.T) {
	t.Parallel()
	files := harness.NewFolder(t, "a.bin", "aaaa", "b.bin", "bb")
	server := httptest.NewServer(http.FileServer(http.Dir(files)))
	defer server.Close()
	dir := harness.NewFolder(t, "cog.yaml", `run: run.py:Runner
weights:
  - {name: one, target: weights/one, source: '`+server.URL+`/a.bin'}
  - {name: two, target: weights/b.bin, source: '`+server.URL+`/b.bin'}
  - {name: local, target: copy, source: more}
`, "more/x.txt", "xyz")
	c := harness.CLI{Dir: dir, Env: []string{"PINION_CACHE_DIR=" + t.TempDir()}}
	assert.Contains(t, "status before", c.Run(t, "weights", "status").Stdout, "one    pending", "two    pending", "local  pending")
	c.Bad(t, 1, "weights", "status")
	assert.Contains(t, "usage", c.Bad(t, 2, "weights", "pull", "on"), `no weights "on"`, "one")
	assert.Contains(t, "usage", c.Bad(t, 2, "weights", "pul"), "did you mean pull?")
	assert.Equal(t, "pull of one", c.Good(t, "weights", "pull", "two"), "1 file, 2 B: all there\n")
	assert.Equal(t, "file", harness.ReadFile(t, filepath.Join(dir, "weights/b.bin")), "bb")
	c.Bad(t, 1, "weights", "status")
	assert.Equal(t, "pull", c.Good(t, "weights", "pull"), "3 files, 9 B: all there\n")
	harness.EqualJSON(t, "status", []byte(c.Good(t, "weights", "status", "--json")), `{"weights":[
		{"name":"one","target":"`+dir+`/weights/one","status":"ready","size":4,"fileCount":1},
		{"name":"two","target":"`+dir+`/weights/b.bin","status":"ready","size":2,"fileCount":1},
		{"name":"local","target":"`+dir+`/copy","status":"ready","size":3,"fileCount":1}]}`)
	assert.Equal(t, "verify", c.Good(t, "weights", "verify"), "3 files: all right\n")

	bad := filepath.Join(dir, "weights/one/a.bin")
	assert.NoError(t, os.Chmod(bad, 0o600))
	harness.WriteFile(t, bad, "aaab")
	assert.Contains(t, "verify", c.Bad(t, 1, "weights", "verify"), "cog.yaml:3: weights one: ", "wrong SHA-256")
	c.Good(t, "weights", "pull", "one")
	assert.Equal(t, "file", harness.ReadFile(t, bad), "aaaa")

	harness.WriteFile(t, filepath.Join(dir, "cog.yaml"), "weights:\n  - {name: a, target: /, source: 'https://x/y'}\n")
	assert.Contains(t, "bad cog.yaml", c.Bad(t, 2, "weights", "pull"), "cog.yaml:2: weights: the target / is no folder")
	harness.WriteFile(t, filepath.Join(dir, "cog.yaml"), "run: run.py:Runner\n")
	assert.Contains(t, "no weights", c.Good(t, "weights", "pull"), "no weights")
}

// TestWeights_Unpack: an archive's files lie at the target; a bad one is an error that names the entry, and what is no
// archive is found before anything is fetched.
func TestWeights_Unpack(t *testing.T) {
	t.Parallel()
	files := harness.NewFolder(t, "in/a.txt", "a", "in/b/c.txt", "c")
	harness.RunTool(t, files, nil, "tar", "-czf", "good.tar.gz", "-C", "in", ".")
	assert.NoError(t, os.Symlink("/etc/passwd", filepath.Join(files, "in/link")))
	harness.RunTool(t, files, nil, "tar", "-cf", "bad.tar", "-C", "in", ".")
	server := httptest.NewServer(http.FileServer(http.Dir(files)))
	defer server.Close()
	model := func(file string) harness.CLI {
		dir := harness.NewFolder(t, "cog.yaml",
			"weights:\n  - {name: base, target: w, unpack: true, source: '"+server.URL+"/"+file+"'}\n")
		return harness.CLI{Dir: dir, Env: []string{"PINION_CACHE_DIR=" + t.TempDir()}}
	}
	good := model("good.tar.gz")
	good.Good(t, "weights", "pull")
	assert.Equal(t, "file", harness.ReadFile(t, filepath.Join(good.Dir, "w/b/c.txt")), "c")
	assert.Contains(t, "status", good.Good(t, "weights", "status"), "base  ready   2      2 B")
	bad := model("bad.tar")
	assert.Contains(t, "pull", bad.Bad(t, 1, "weights", "pull"),
		`cog.yaml:2: weights base: unpack bad.tar: the entry "./link" is no file`)
	_, err := os.Stat(filepath.Join(bad.Dir, "w"))
	assert.True(t, os.IsNotExist(err), "something of a bad archive is at the target")
	assert.Contains(t, "usage", model("in/a.txt").Bad(t, 2, "weights", "pull"), "unpack: a.txt is no archive", ".tar.zst")
}
