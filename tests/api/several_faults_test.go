package api

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// modelHealth is the health of one of several models.
func modelHealth(t testing.TB, s *harness.Server, model string) (h harness.Health) {
	t.Helper()
	harness.Decode(t, s.Do(http.MethodGet, "/models/"+model+"/health-check", nil), &h)
	return h
}

// TestSeveralFaults_HangLeavesOtherModel: while the worker of one model stands still, the other answers; then it is
// replaced.
func TestSeveralFaults_HangLeavesOtherModel(t *testing.T) {
	t.Parallel()
	s, _ := harness.StartTwoModels(t, "--hang-timeout", "3s", "--queue", "8")
	_, _, before, _ := harness.SaidBy(t, harness.PredictBy(s, "b", harness.Input{}))
	hung := modelHealth(t, s, "a").Workers[0].PID
	harness.SendSignal(t, hung, syscall.SIGSTOP)
	for replaced := false; !replaced; {
		_, _, pid, _ := harness.SaidBy(t, harness.PredictBy(s, "b", harness.Input{}))
		assert.TrueNow(t, pid == before, "process %s answers for b, before it was %s, want the same", pid, before)
		h := modelHealth(t, s, "a")
		replaced = h.Status == "READY" && h.Workers[0].PID != hung
	}
	model, _, pid, _ := harness.SaidBy(t, harness.PredictBy(s, "a", harness.Input{}))
	assert.True(t, model == "a" && pid != fmt.Sprint(hung),
		"%s answers in process %s, want a and not %q", model, pid, fmt.Sprint(hung))
}

// brokenA has folders of a model a that cannot be set up and a model b that waits at a named pipe in its setup.
func brokenA(t *testing.T) (dir string, models []string, open func()) {
	t.Helper()
	python := harness.AnyPython(t)
	dir, models = harness.ModelFolders(t, map[string]harness.Python{"a": python, "b": python})
	harness.WriteFile(t, filepath.Join(dir, "a/broken.txt"), "")
	open = harness.MakeFIFO(t, filepath.Join(dir, "b"), "setup")
	gated := strings.Replace(harness.SeveralModel, "def setup(self) -> None:\n",
		"def setup(self) -> None:\n        print('waits at setup', flush=True)\n        open('setup').read()\n", 1)
	harness.WriteFile(t, filepath.Join(dir, "b/run.py"), gated)
	return dir, models, open
}

// TestSeveralFaults_ReadinessWaitsForFirstSetupOfEachModel, be it good or bad. Under Kubernetes a file then appears.
// The server has its own /var/run.
func TestSeveralFaults_ReadinessWaitsForFirstSetupOfEachModel(t *testing.T) {
	t.Parallel()
	wrap, readyFile := harness.OwnVarRun(t)
	dir, models, open := brokenA(t)
	s := harness.Start(t, harness.Options{
		Dir: dir, Models: models, Wrap: wrap, Env: []string{"KUBERNETES_SERVICE_HOST=1.2.3.4"},
	})
	file := readyFile(s)
	s.WaitLog("waits at setup")
	assert.Eventually(t, "the setup of a has failed",
		func() bool { return modelHealth(t, s, "a").Status == "SETUP_FAILED" })
	notYet := s.Do(http.MethodGet, "/readyz", nil)
	harness.WantCode(t, "while b is set up", notYet, http.StatusServiceUnavailable)
	assert.True(t, strings.Contains(string(notYet.Body), "model b: Setup has not finished yet"),
		`got %s, want it to contain "model b: Setup has not finished yet"`, notYet)
	_, err := os.Stat(file)
	assert.True(t, err != nil, "the file is there before the setup of b has ended")
	open()
	harness.WaitModels(t, s)
	assert.Eventually(t, "the file appears", func() bool { _, err := os.Stat(file); return err == nil })
}

// TestSeveralFaults_FailFastNamesModel whose setup ended the server.
func TestSeveralFaults_FailFastNamesModel(t *testing.T) {
	t.Parallel()
	dir, models, _ := brokenA(t)
	s := harness.Start(t, harness.Options{Dir: dir, Models: models, Args: []string{"--fail-fast"}})
	s.Ended(1)
	line, ok := s.Log.First(func(l harness.Line) bool { return l.Text == "setup failed" })
	if !ok || !strings.Contains(line.Raw, `"model":"a"`) || !strings.Contains(line.Raw, "it cannot be set up today") {
		t.Errorf(`the log has %s, want ok true and Raw with %q and with "it cannot be set up today"`, line.Raw, `"model":"a"`)
	}
}
