package api

import (
	"net/http"
	"os/exec"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestStartScript_OfCogStartsServer: with our package installed, `python -m cog.server.http` is this server, in the
// same process and with that Python.
func TestStartScript_OfCogStartsServer(t *testing.T) {
	t.Parallel()
	sdk := harness.Absolute(t, "../pyembed/sdk")
	log := &harness.Log{}
	cmd := exec.Command(harness.AnyPython(t).Path, "-m", "cog.server.http", "--host", "127.0.0.1", "--threads=2",
		"--await-explicit-shutdown=true")
	cmd.Dir = harness.NewFolder(t, "run.py", "import sys\ndef run(n: int) -> str:\n    return sys.executable\n")
	cmd.Env = append(harness.BareEnv(), "PYTHONPATH="+sdk, "PYTHONDONTWRITEBYTECODE=1", "PINION_BINARY="+harness.Binary(t),
		"PORT=0",
		"LOG_FORMAT=json", "COG_PREDICT_TYPE_STUB=run.py:run", "TMPDIR="+harness.ShortTempDir(t))
	cmd.Stdout, cmd.Stderr = log, log
	assert.NoError(t, cmd.Start(), "start the server")
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // ProcessState says how it ended
		close(ended)
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	address := ""
	assert.Eventually(t, "the server listens", func() bool {
		line, ok := log.Find("listening")
		address = line.Address
		return ok
	})
	assert.Eventually(t, "the model is ready", func() bool {
		_, ok := log.Find("worker ready")
		return ok
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil { // it is to be ignored
		t.Fatalf("the server has ended: got %v, want no error", err)
	}
	a, err := http.Post(address+"/shutdown", "application/json", nil)
	assert.NoError(t, err, "ask the server to end", log)
	a.Body.Close()
	assert.Eventually(t, "the server has ended", func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	assert.True(t, cmd.ProcessState.Success(), "the server ended with %v, want Success true:\n%s", cmd.ProcessState, log)
}
