package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestFolder_Stale checks that a new store removes what dead ones left, and only that.
func TestFolder_Stale(t *testing.T) {
	root := t.TempDir()
	dead := assert.Must(makeFolder(root))(t)
	assert.NoError(t, os.MkdirAll(filepath.Join(dead.path, "p", "0"), 0o700))
	// As the kernel does when a process is killed.
	assert.NoError(t, dead.lock.Close())
	alive := assert.Must(makeFolder(root))(t)
	// one without a lock yet, and a folder of another kind
	for _, name := range []string{folderPrefix + "young", "other"} {
		assert.NoError(t, os.Mkdir(filepath.Join(root, name), 0o700))
	}
	assert.NoError(t, os.WriteFile(filepath.Join(root, folderPrefix+"file"), nil, 0o600))
	s := assert.Must(New(Options{Root: root}))(t)
	for path, want := range map[string]bool{
		dead.path: false, alive.path: true, s.folder.path: true,
		filepath.Join(root, folderPrefix+"young"): true, filepath.Join(root, folderPrefix+"file"): true,
		filepath.Join(root, "other"): true,
	} {
		_, err := os.Stat(path)
		assert.True(t, (err == nil) == want, "Stat(%s): %v, want %t", path, err, want)
	}
	for _, remove := range []func() error{s.Close, alive.remove} {
		assert.ErrorIs(t, "remove", remove(), nil)
	}
	entries := assert.Must(os.ReadDir(root))(t)
	assert.Equal(t, "left: number of entries", len(entries), 3)
}

func TestFolder_New(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	assert.NoError(t, os.WriteFile(file, nil, 0o600))
	if s, err := New(Options{Root: file}); err == nil || !strings.Contains(err.Error(), "make file store") {
		t.Errorf(`New in a file: %v, %v, want an error and err with "make file store"`, s, err)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	s := assert.Must(New(Options{}))(t)
	info, err := os.Stat(s.folder.path)
	assert.True(t, err == nil && info.Mode().Perm() == 0o700 && filepath.Dir(s.folder.path) == temp,
		"folder %s: %v, %v, want Perm 0o700 and Dir %q", s.folder.path, info, err, temp)
	assert.ErrorIs(t, "s.Close", s.Close(), nil)
	left := list(t, temp)
	assert.True(t, len(left) == 0, "left on disk: %q", left)
	root := filepath.Join(temp, "a", "b")
	s = assert.Must(New(Options{Root: root}))(t)
	info, err = os.Stat(root)
	assert.True(t, err == nil && info.Mode().Perm() == 0o700, "root: %v, %v, want Perm 0o700", info, err)
	assert.ErrorIs(t, "s.Close", s.Close(), nil)
}
