package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pinion/tests/harness"
)

// ownVarRun is a command that gives a server its own /var/run, and where the server's readiness file is then.
func ownVarRun(t *testing.T) (wrap []string, readyFile func(*harness.Server) string) {
	t.Helper()
	wrap = unshared(t, "--mount", "sh", "-c", `mount -t tmpfs none /var/run && exec "$@"`, "sh")
	folder, err := filepath.EvalSymlinks("/var/run") // a link would lead out of the server's own mounts
	if err != nil {
		t.Fatal(err)
	}
	return wrap, func(s *harness.Server) string { return fmt.Sprintf("/proc/%d/root%s/cog/ready", s.PID, folder) }
}

// TestTheReadinessFileAppearsUnderKubernetes once the server is ready, and not before. The server has its own /var/run.
func TestTheReadinessFileAppearsUnderKubernetes(t *testing.T) {
	t.Parallel()
	wrap, readyFile := ownVarRun(t)
	for _, where := range []string{"1.2.3.4", ""} {
		dir := harness.Models(t)
		open := makeFIFO(t, dir, "setup")
		s := harness.Start(t, harness.Options{
			Dir: dir, Model: "api/do.py:Gated", Wrap: wrap,
			Env: []string{"KUBERNETES_SERVICE_HOST=" + where},
		})
		file := readyFile(s)
		s.WaitLog("waits at setup")
		if _, err := os.Stat(file); err == nil {
			t.Error("the file is there before setup has ended")
		}
		open()
		s.WaitHealth("READY")
		if where != "" {
			harness.Eventually(t, "the file appears", func() bool {
				_, err := os.Stat(file)
				return err == nil
			})
		} else if _, err := os.Stat(file); err == nil {
			t.Error("the file appears elsewhere too")
		}
		s.Stop()
	}
}
