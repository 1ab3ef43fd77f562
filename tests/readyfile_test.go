package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"pinion/tests/harness"
)

// TestTheReadinessFileAppearsUnderKubernetes once the server is ready, and not before. The server has its own /var/run.
func TestTheReadinessFileAppearsUnderKubernetes(t *testing.T) {
	t.Parallel()
	wrap := []string{"unshare", "--mount", "sh", "-c", `mount -t tmpfs none /var/run && exec "$@"`, "sh"}
	if exec.Command(wrap[0], append(slices.Clone(wrap[1:]), "true")...).Run() != nil {
		t.Skip("no mount can be made here: that takes root")
	}
	folder, err := filepath.EvalSymlinks("/var/run") // a link would lead out of the server's own mounts
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"1.2.3.4", ""} {
		dir := harness.Models(t)
		open := makeFIFO(t, dir, "setup")
		s := harness.Start(t, harness.Options{Dir: dir, Model: "api/do.py:Gated", Wrap: wrap, Env: []string{"KUBERNETES_SERVICE_HOST=" + where}})
		file := fmt.Sprintf("/proc/%d/root%s/cog/ready", s.PID, folder)
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
