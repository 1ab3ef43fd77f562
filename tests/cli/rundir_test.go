package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// copyingModel reads its file, before or after somebody opens a FIFO, and returns one.
const copyingModel = `
from cog import Path


def run(file: Path, gate: bool = False) -> Path:
    if gate:
        print("waiting")
        open("gate").read()
    out = Path("out.txt")
    out.write_text(file.read_text().upper())
    return out


def produce(gate: bool = False) -> Path:
    out = Path("out.txt")
    out.write_text("made")
    if gate:
        print("waiting")
        open("gate").read()
    return out
`

const helloURL = "data:text/plain,hello"

// runFolder is the folder that a server has under TMPDIR.
func runFolder(t *testing.T, s *harness.Server) string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(s.Tmp, "pinion-run-*")) // a fixed pattern
	assert.EqualNow(t, fmt.Sprintf("run folders: %q", found), len(found), 1)
	return found[0]
}

// TestRunDir_RunFolderIsRemoved, as a cleaner of temporary files does: it is made again, and only what was in use
// fails.
func TestRunDir_RunFolderIsRemoved(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", copyingModel), Args: []string{"--queue", "4"},
	})
	open := harness.MakeFIFO(t, s.Dir, "gate")
	assert.Contains(t, "before", s.Succeed(harness.Input{"file": helloURL}).Text(t), "SEVMTE8=") // HELLO, in base64
	inUse := s.Begin("in use", harness.Input{"file": helloURL, "gate": true})
	s.WaitLog("waiting")
	remove := func() {
		t.Helper()
		assert.NoError(t, os.RemoveAll(runFolder(t, s)))
	}
	remove()
	after := s.Begin("after", harness.Input{"file": helloURL})
	s.WaitLog("the folder of temporary files was removed: making it again")
	open()
	a := harness.Receive(t, inUse)
	harness.WantStatus(t, "the one whose file was removed", a, "failed")
	assert.Contains(t, "error", a.Error, "No such file or directory")
	if a := harness.Receive(t, after); a.Status != "succeeded" || !strings.Contains(a.Text(t), "SEVMTE8=") {
		t.Errorf(`the one after it: %s, want Status succeeded and Text with "SEVMTE8="`, a)
	}
	remove()
	// What came in a request's own body is there before its prediction.
	form := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--x--\r\n"
	harness.WantStatus(t, "a form", s.Create(form, "Content-Type", "multipart/form-data; boundary=x"), "succeeded")
	harness.SendSignal(t, s.Worker(), syscall.SIGKILL)
	s.Succeed(harness.Input{"file": helloURL})
}

// TestRunDir_FolderOfOutputsIsRemoved: the prediction says so, not that some file is missing.
func TestRunDir_FolderOfOutputsIsRemoved(t *testing.T) {
	t.Parallel()
	store := httptest.NewServer(http.NotFoundHandler())
	defer store.Close()
	s := harness.Ready(t, harness.Options{
		Dir: harness.NewFolder(t, "run.py", copyingModel), Model: "run.py:produce", Args: []string{"--upload-url", store.URL},
	})
	open := harness.MakeFIFO(t, s.Dir, "gate")
	answer := s.Begin("in use", harness.Input{"gate": true})
	s.WaitLog("waiting")
	assert.NoError(t, os.RemoveAll(runFolder(t, s)))
	open()
	a := harness.Receive(t, answer)
	harness.WantStatus(t, "the one whose folder was removed", a, "failed")
	assert.Contains(t, "error", a.Error, "out.txt", "folder of temporary files was removed")
}

// TestRunDir_RunFolderWithoutCache holds the cog package too, which a new worker needs.
func TestRunDir_RunFolderWithoutCache(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{
		Model: "echo.py:run", Env: []string{"XDG_CACHE_HOME=/dev/null/nothing"}, Args: []string{"--queue", "4"},
	})
	_, err := os.Stat(filepath.Join(runFolder(t, s), "sdk"))
	assert.NoError(t, err)
	assert.NoError(t, os.RemoveAll(runFolder(t, s)))
	before := s.Worker()
	harness.SendSignal(t, before, syscall.SIGKILL)
	assert.Eventually(t, "another worker is ready", func() bool {
		h := s.Health()
		return h.Status == "READY" && h.Workers[0].PID != before
	})
	harness.WantCode(t, "the next", s.Do(http.MethodGet, "/", nil), http.StatusOK)
}

// TestRunDir_RunFolderIsLocked: systemd-tmpfiles leaves alone what is in a folder that somebody has locked.
func TestRunDir_RunFolderIsLocked(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "echo.py:run"})
	f, err := os.Open(runFolder(t, s))
	assert.NoError(t, err)
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	assert.ErrorIs(t, "the lock of the folder", err, syscall.EWOULDBLOCK)
}

// TestRundir_NoHomeIsMade, where $HOME names a folder that is not there: by no command, and by no worker.
func TestRundir_NoHomeIsMade(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	home := filepath.Join(folder, "home")
	env := []string{"HOME=" + home, "XDG_CACHE_HOME="}
	s := harness.Ready(t, harness.Options{Model: "echo.py:run", Env: env})
	harness.EqualJSON(t, "output", s.Succeed(harness.Input{"value": harness.Input{}}).Output, `{}`)
	s.Stop()
	cmd := exec.Command(harness.Binary(t), "schema", s.Dir, "--predictor", "echo.py:run", "--python",
		harness.AnyPython(t).Path)
	cmd.Env = append(harness.BareEnv(), env...)
	out, err := cmd.CombinedOutput()
	assert.True(t, err == nil, "schema: got %v, want no error\n%s", err, out)
	left, err := os.ReadDir(folder)
	assert.True(t, err == nil && len(left) == 0, "%v were made, %v", left, err)
}
