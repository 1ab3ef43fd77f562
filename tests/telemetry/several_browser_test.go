package telemetry

import (
	"path/filepath"
	"testing"

	"pinion/tests/harness"
)

// waitingModel calls the models of a path, one below the other; the last one may wait for a file.
const waitingModel = `
import os, time
import cog

def run(path: list[str] = [], gate: bool = False, fail: str = "") -> str:
    if path:
        return cog.call(path[0], path=path[1:], gate=gate, fail=fail)
    while gate and not os.path.exists("open"):
        time.sleep(0.002)
    if fail:
        raise ValueError(fail)
    return "end"
`

// TestSeveralBrowser_CallsInBrowser runs the scenes of calls in browser/several_scenes.py.
func TestSeveralBrowser_CallsInBrowser(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	for _, scene := range []string{"calls", "live_calls"} {
		t.Run(scene, func(t *testing.T) {
			axe(t)
			dir := t.TempDir()
			o := harness.Options{Python: harness.AnyPython(t).Path, Args: []string{"--queue", "4"}}
			for _, name := range []string{"a", "b", "c"} {
				folder := filepath.Join(dir, name)
				harness.WriteFile(t, filepath.Join(folder, "run.py"), waitingModel)
				harness.WriteFile(t, filepath.Join(folder, "cog.yaml"), "run: run.py:run\n")
				o.Models = append(o.Models, name+"="+folder)
			}
			s := harness.Start(t, o)
			harness.WaitModels(t, s)
			look(t, scene, s.Address, dir, nil)
		})
	}
}
