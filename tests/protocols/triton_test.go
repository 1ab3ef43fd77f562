package protocols

import (
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestTriton_AnswersAlike: Triton itself and this server answer Triton's client the same: metadata, tensors in JSON and
// in binary, and the statuses of errors.
func TestTriton_AnswersAlike(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	tool := harness.Tool(t, "venvs/protocols/bin/python")
	client := harness.Absolute(t, "clients/triton_alike.py")
	address := startTriton(t)
	python := harness.Pythons(t)[0]
	harness.NeedModule(t, python, "numpy")
	s := harness.Ready(t, harness.Options{
		Python: python.Path, Model: "tensors.py:Typed", Args: []string{"--model", "bench"},
	})
	harness.RunTool(t, t.TempDir(), nil, tool, "-B", client, address, s.Address)
}

// startTriton serves the model bench by Triton's Python backend. The test is skipped where its package could not be
// installed.
func startTriton(t *testing.T) (address string) {
	t.Helper()
	python := harness.Tool(t, "venvs/triton/bin/python")
	address = harness.FreeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	_, grpc, _ := strings.Cut(harness.FreeAddress(t), ":")
	cmd := exec.Command(python, "-B", "../bench/protocols/triton/serve.py", port, grpc)
	cmd.Env = harness.BareEnv()
	var says strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &says, &says, 10*time.Second
	harness.StartCommand(t, cmd)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is interrupted
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		if t.Failed() {
			t.Logf("Triton says: %s", &says)
		}
	})
	once := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // at its end Triton waits for connections
	assert.Eventually(t, "Triton is ready", func() bool {
		select {
		case <-ended:
			t.Fatalf("Triton has ended, want it to run: %s", &says)
		default:
		}
		answer, err := once.Get("http://" + address + "/v2/health/ready")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return address
}
