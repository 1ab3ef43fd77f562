package telemetry

import (
	"net/url"
	"path/filepath"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestLiveViewBrowser_LiveViewInBrowser runs the scenes of browser/live_scenes.py and browser/problem_scenes.py.
func TestLiveViewBrowser_LiveViewInBrowser(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	for _, scene := range []struct {
		name, model string
		args        []string
		tokens      bool
		gpus        bool
		audits      bool
	}{
		{name: "charts"},
		{name: "rows"},
		{name: "ends"},
		{name: "content", args: []string{"--dashboard-content"}},
		{name: "no_content"},
		{name: "keyboard"},
		{name: "narrow", audits: true},
		{name: "audited", audits: true},
		{name: "restart"},
		{name: "token", tokens: true},
		{name: "crash"},
		{name: "setup", model: "Unset", audits: true},
		{name: "webhooks", audits: true},
		{name: "batches", model: "Batched", args: []string{"--queue", "16"}, audits: true},
		{name: "streams", model: "Writer", audits: true},
		{name: "gpus", gpus: true, audits: true},
		{name: "link"},
		{name: "stuck", audits: true},
		{name: "stuck_again"},
		{name: "stuck_token", tokens: true},
		{name: "details", audits: true},
		{name: "groups", audits: true},
		{name: "search", audits: true},
	} {
		t.Run(scene.name, func(t *testing.T) {
			if scene.audits {
				axe(t)
			}
			o := harness.Options{Dir: harness.Models(t), Model: "live.py:Live", Args: scene.args}
			if scene.model != "" {
				o.Model = "live.py:" + scene.model
			}
			if scene.tokens {
				o.Args = append(o.Args, "--auth-token-file", harness.TokenFile(t, "the-token-of-the-page"))
			}
			if scene.gpus {
				o.Env = append(o.Env, "LD_LIBRARY_PATH="+fakeNVML(t))
			}
			s := harness.Start(t, o)
			if !scene.tokens && scene.model != "Unset" {
				s.WaitHealth("READY")
			}
			capture(t, "live_"+scene.name, s.Address, o.Dir, map[string]func(){
				"stop":             s.Stop,
				"terminate":        func() { s.Signal(syscall.SIGTERM) },
				"wait for the end": func() { s.Ended(0) },
				"start":            func() { harness.Ready(t, again(t, o, s)) },
				"kill the worker": func() {
					if err := syscall.Kill(s.Worker(), syscall.SIGKILL); err != nil {
						t.Error(err)
					}
				},
			})
		})
	}
}

// again is a server's successor at the same address.
func again(t *testing.T, o harness.Options, s *harness.Server) harness.Options {
	t.Helper()
	address := assert.Must(url.Parse(s.Address))(t)
	o.Args = append(o.Args, "--port", address.Port())
	return o
}

// fakeNVML is a folder with a driver's library that knows of two GPUs.
func fakeNVML(t *testing.T) string {
	t.Helper()
	return filepath.Dir(harness.SharedLibrary(t, "libnvidia-ml.so.1", "../runtime/gpu/nvml/testdata/fakenvml.c"))
}
