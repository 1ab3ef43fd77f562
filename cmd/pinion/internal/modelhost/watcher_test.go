package modelhost

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
)

// watched is a folder, its watcher, and everything that was reported.
type watched struct {
	*watcher
	t   *testing.T
	dir string
}

func watching(t *testing.T, files ...string) *watched {
	t.Helper()
	w := &watched{t: t, dir: t.TempDir()}
	for _, name := range files {
		w.write(name, "as it was")
	}
	w.watcher = assert.Must(newWatcher(w.dir, func(err error) { t.Error(err) }))(t)
	t.Cleanup(func() {
		assert.ErrorIs(t, "w.Close", w.Close(), nil)
		list, open := <-w.Changes()
		assert.False(t, open, "reported after the end: %q", list)
	})
	return w
}

func (w *watched) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	assert.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NoError(w.t, os.WriteFile(path, []byte(text), 0o644))
}

func (w *watched) must(err error) {
	w.t.Helper()
	assert.NoError(w.t, err)
}

// want waits until exactly these files were reported, in one list or several.
func (w *watched) want(names ...string) {
	w.t.Helper()
	var got []string
	for len(got) < len(names) {
		select {
		case list := <-w.Changes():
			got = append(got, list...)
		case <-time.After(assert.Timeout):
			w.t.Fatalf("reported were %q, want %q", got, names)
		}
	}
	slices.Sort(got)
	got = slices.Compact(got)
	assert.True(w.t, slices.Equal(got, names), "reported were %q, want %q", got, names)
}

// wantOnly holds that nothing was reported but what comes of a last change.
func (w *watched) wantOnly(why string) {
	w.t.Helper()
	w.write("last.py", why)
	w.want("last.py")
}

func TestWatcher_ChangesAreReported(t *testing.T) {
	w := watching(t, "run.py", "cog.yaml", "requirements.txt", "lib/deep/util.py")
	w.write("run.py", "changed")
	w.want("run.py")
	w.write("lib/deep/util.py", "changed")
	w.want("lib/deep/util.py")
	w.write("cog.yaml", "changed")
	w.want("cog.yaml")
	w.write("requirements-gpu.txt", "new")
	w.want("requirements-gpu.txt")
	w.write(".cog/openapi_schema.json", "{}")
	w.want(".cog/openapi_schema.json")
	w.must(os.Remove(filepath.Join(w.dir, "run.py")))
	w.want("run.py")
}

// TestWatcher_HowEditorsSave: beside the file and then in its place, or the file away and a new one there.
func TestWatcher_HowEditorsSave(t *testing.T) {
	w := watching(t, "run.py")
	w.write("run.py.tmp", "one")
	w.must(os.Rename(filepath.Join(w.dir, "run.py.tmp"), filepath.Join(w.dir, "run.py")))
	w.want("run.py")
	w.must(os.Rename(filepath.Join(w.dir, "run.py"), filepath.Join(w.dir, "run.py~")))
	w.write("run.py", "two")
	w.want("run.py")
	w.must(os.Rename(filepath.Join(w.dir, "run.py"), filepath.Join(w.dir, "run.py~")))
	w.must(os.Rename(filepath.Join(w.dir, "run.py~"), filepath.Join(w.dir, "run.py"))) // nothing has changed
	w.wantOnly("after a save that changed nothing")
}

func TestWatcher_WhatIsNotSourceIsNotReported(t *testing.T) {
	w := watching(t, "run.py", "env/pyvenv.cfg")
	for _, name := range []string{
		"output.png", "result.json", "notes.txt", ".#run.py", "run.py~", "run.pyc", ".run.py.swp", "#run.py#", ".git/hook.py",
		"__pycache__/run.cpython-312.pyc", ".venv/lib/x.py", "env/lib/x.py", "node_modules/x.py", "x/site-packages/x.py",
	} {
		w.write(name, "new")
	}
	w.write("run.py", "as it was")
	w.must(os.Chmod(filepath.Join(w.dir, "run.py"), 0o600))
	w.wantOnly("after all of these")
}

// TestWatcher_ModelThatWritesAllTime does not put the report off.
func TestWatcher_ModelThatWritesAllTime(t *testing.T) {
	w := watching(t, "run.py")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				if err := os.WriteFile(filepath.Join(w.dir, "output.png"), nil, 0o600); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	w.write("run.py", "changed")
	w.want("run.py")
	close(stop)
	<-stopped
}

func TestWatcher_FoldersThatComeAndGo(t *testing.T) {
	w := watching(t, "run.py")
	w.write("a/b/one.py", "1")
	w.write("a/b/two.py", "2")
	w.want("a/b/one.py", "a/b/two.py")
	w.write("a/b/one.py", "changed")
	w.want("a/b/one.py")
	w.must(os.Rename(filepath.Join(w.dir, "a"), filepath.Join(w.dir, "c")))
	w.want("a/b/one.py", "a/b/two.py", "c/b/one.py", "c/b/two.py")
	w.write("c/b/two.py", "changed")
	w.want("c/b/two.py")
	w.must(os.RemoveAll(filepath.Join(w.dir, "c")))
	w.want("c/b/one.py", "c/b/two.py")
}

// TestWatcher_ChangesGatherUntilTheyAreRead: the reader of a slow reload gets one list.
func TestWatcher_ChangesGatherUntilTheyAreRead(t *testing.T) {
	w := watching(t)
	var names []string
	for _, letter := range strings.Split("abcdefgh", "") {
		w.write(letter+".py", "new")
		names = append(names, letter+".py")
	}
	w.want(names...)
}

func TestWatcher_FolderThatIsNotThere(t *testing.T) {
	_, err := newWatcher(filepath.Join(t.TempDir(), "gone"), nil)
	assert.True(t, err != nil && strings.Contains(err.Error(), "gone"), `the error is %v, want an error and err with "gone"`, err)
}

// TestWatcher_TakesRegularFilesAlone: a named pipe would be waited for, and a device read without end.
func TestWatcher_TakesRegularFilesAlone(t *testing.T) {
	t.Parallel()
	w := watching(t, "run.py")
	w.must(syscall.Mkfifo(filepath.Join(w.dir, "pipe.py"), 0o600))
	w.must(os.Symlink("/dev/zero", filepath.Join(w.dir, "zero.py")))
	w.must(os.Symlink("run.py", filepath.Join(w.dir, "link.py")))
	w.want("link.py")
	w.write("run.py", "as it is now")
	w.want("run.py")
}
