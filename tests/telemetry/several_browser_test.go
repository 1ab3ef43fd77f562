package telemetry

import (
	"net/http"
	"path/filepath"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// waitingModel calls the models of a path, one below the other; the last one may wait for a file.
const waitingModel = `
import os, time
import cog

def run(path: list[str] = [], gate: bool = False, fail: str = "", times: int = 1) -> str:
    for _ in range(times - 1 if path else 0):
        cog.call(path[0])
    if path:
        return cog.call(path[0], path=path[1:], gate=gate, fail=fail)
    while gate and not os.path.exists("open"):
        time.sleep(0.002)
    if fail:
        raise ValueError(fail)
    return "end"
`

// TestSeveralBrowser_CallsInBrowser runs the scenes of three models in browser/several_scenes.py.
func TestSeveralBrowser_CallsInBrowser(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	for _, scene := range []string{"calls", "many_calls", "live_calls", "live_models"} {
		t.Run(scene, func(t *testing.T) {
			axe(t)
			dir := t.TempDir()
			o := harness.Options{Python: harness.AnyPython(t).Path, Args: []string{"--queue", "4", "--reload"}}
			for _, name := range []string{"a", "b", "c"} {
				folder := filepath.Join(dir, name)
				harness.WriteFile(t, filepath.Join(folder, "run.py"), waitingModel)
				harness.WriteFile(t, filepath.Join(folder, "cog.yaml"), "run: run.py:run\n")
				o.Models = append(o.Models, name+"="+folder)
			}
			s := harness.Start(t, o)
			harness.WaitModels(t, s)
			capture(t, scene, s.Address, dir, nil)
		})
	}
}

// TestSeveralBrowser_FleetInBrowser: the live view of a gateway, with a server that is killed while it runs a job.
func TestSeveralBrowser_FleetInBrowser(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	axe(t)
	nats := harness.StartNATSOf(t, "ocr", "embed")
	queue := []string{"--nats", nats.URL, "--attempts", "1", "--ack-wait", "15s"}
	dir := t.TempDir()
	o := harness.Options{Python: harness.AnyPython(t).Path, Args: queue}
	for _, name := range []string{"ocr", "embed"} {
		folder := filepath.Join(dir, name)
		harness.WriteFile(t, filepath.Join(folder, "run.py"), waitingModel)
		harness.WriteFile(t, filepath.Join(folder, "cog.yaml"), "run: run.py:run\n")
		o.Models = append(o.Models, name+"="+folder)
	}
	s := harness.Start(t, o)
	harness.WaitModels(t, s)
	g := harness.StartGatewayWith(t, nats.URL, append(queue[2:], "--models", "ocr,embed")...)
	assert.Eventually(t, "the gateway knows the models", func() bool {
		return g.Do(http.MethodGet, "/models/ocr/openapi.json", nil).Code == http.StatusOK &&
			g.Do(http.MethodGet, "/models/embed/openapi.json", nil).Code == http.StatusOK
	})
	for _, id := range []string{"runs", "waits", "waits-too"} {
		harness.WantCode(t, "the job "+id, g.Do(http.MethodPut, "/models/ocr/predictions/"+id,
			map[string]any{"input": harness.Input{"gate": true}}, "Prefer", "respond-async"), http.StatusAccepted)
	}
	capture(t, "fleet", g.Address, dir, map[string]func(){
		"kill the server":  s.Kill,
		"start another":    func() { harness.WaitModels(t, harness.Start(t, o)) },
		"stop the gateway": func() { _ = g.Cmd.Process.Signal(syscall.SIGTERM) },
	})
}
