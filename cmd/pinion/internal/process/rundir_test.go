package process

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pinion/tests/assert"
)

func newRunDir(t *testing.T) *RunDir {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	d := assert.Must(MakeRunDir())(t)
	t.Cleanup(func() { assert.ErrorIs(t, "d.Remove", d.Remove(), nil) })
	return d
}

// TestRunDir_KeepMakesRunFolderAgain in every state in which a cleaner may have left it.
func TestRunDir_KeepMakesRunFolderAgain(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"nothing":      func(string) error { return nil },
		"the folder":   os.RemoveAll,
		"the lock":     func(path string) error { return os.Remove(filepath.Join(path, lockName)) },
		"its contents": func(path string) error { return os.RemoveAll(filepath.Join(path, "files")) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newRunDir(t)
			path := d.Path()
			assert.NoError(t, damage(path))
			assert.NoError(t, d.Keep())
			assert.Equal(t, "path", d.Path(), path)
			info, err := os.Stat(path)
			assert.NoError(t, err)
			assert.Equal(t, "permissions", info.Mode().Perm(), 0o700)
			if free, err := takeLock(filepath.Join(path, lockName), 0); err == nil {
				free.Close()
				t.Error("its lock is free")
			}
			sweep(os.TempDir()) // of another server's start
			_, err = os.Stat(path)
			assert.True(t, err == nil, "another server has swept the folder: %v, want it kept", err)
		})
	}
}

// TestRundir_KeepTrustsNoFolderOfItsName: another user may have made it.
func TestRundir_KeepTrustsNoFolderOfItsName(t *testing.T) {
	d := newRunDir(t)
	path := d.Path()
	assert.NoError(t, os.RemoveAll(path))
	other := t.TempDir()
	assert.NoError(t, os.Symlink(other, path))
	assert.NoError(t, d.Keep())
	got := d.Path()
	assert.True(t, got != path, "it uses a link that another program has put there: got %.300q, want anything but %q", got, path)
	entries, err := os.ReadDir(other)
	assert.True(t, err == nil && len(entries) == 0, "it has written there: %v, %v", entries, err)
}

// TestRunDir_Refresh: the files that the server uses have a new time.
func TestRunDir_Refresh(t *testing.T) {
	d := newRunDir(t)
	store := filepath.Join(d.Files(), "pinion-files-1")
	assert.NoError(t, os.MkdirAll(store, 0o700))
	kept := []string{d.Path(), filepath.Join(d.Path(), lockName), d.Files(), store, filepath.Join(store, ".lock")}
	assert.NoError(t, os.WriteFile(kept[4], nil, 0o600))
	old := time.Now().Add(-30 * 24 * time.Hour)
	for _, path := range kept {
		assert.NoError(t, os.Chtimes(path, old, old))
	}
	now := time.Now().Truncate(time.Second)
	d.Refresh(now)
	for _, path := range kept {
		info, err := os.Stat(path)
		assert.True(t, err == nil && info.ModTime().Equal(now), "%s: %v, %v, want ModTime %v", path, info, err, now)
	}
}
