package cli

import (
	"os"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestReadyFile_ReadinessFileAppearsUnderKubernetes once the server is ready, and not before. The server has its own
// /var/run.
func TestReadyFile_ReadinessFileAppearsUnderKubernetes(t *testing.T) {
	t.Parallel()
	wrap, readyFile := harness.OwnVarRun(t)
	for _, where := range []string{"1.2.3.4", ""} {
		dir := harness.Models(t)
		open := harness.MakeFIFO(t, dir, "setup")
		s := harness.Start(t, harness.Options{
			Dir: dir, Model: "api/do.py:Gated", Wrap: wrap, Env: []string{"KUBERNETES_SERVICE_HOST=" + where},
		})
		file := readyFile(s)
		s.WaitLog("waits at setup")
		_, err := os.Stat(file)
		assert.True(t, err != nil, "the file is there before setup has ended")
		open()
		s.WaitHealth("READY")
		if where != "" {
			harness.WaitFile(t, file)
		} else if _, err := os.Stat(file); err == nil {
			t.Error("the file appears elsewhere too")
		}
		s.Stop()
	}
}
