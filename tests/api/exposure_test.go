package api

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// listensAt is the address in the log of a server without --host.
func listensAt(t *testing.T, wrap []string, env ...string) string {
	t.Helper()
	words := append(append([]string{}, wrap...), harness.Binary(t), "serve", "--port", "0", "--log-format", "json",
		"--python", harness.AnyPython(t).Path, "--predictor", "run.py:run")
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = harness.NewFolder(t, "run.py", "def run() -> int:\n    return 1\n")
	cmd.Env = append(append(harness.BareEnv(), "TMPDIR="+harness.ShortTempDir(t)), env...)
	log := harness.RunBeside(t, "the server", cmd)
	address := ""
	assert.Eventually(t, "the server listens", func() bool {
		line, ok := log.Find("listening")
		address = line.Address
		return ok
	})
	return address
}

// TestExposure_WhereServerListensByDefault: on all addresses in a container, else for this machine alone; the log says
// which.
func TestExposure_WhereServerListensByDefault(t *testing.T) {
	t.Parallel()
	want := "http://127.0.0.1:"
	for _, trace := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(trace); err == nil {
			want = "http://0.0.0.0:"
		}
	}
	got := listensAt(t, nil)
	assert.True(t, strings.HasPrefix(got, want), "it listens at %s, want %s", got, want)
	if got := listensAt(t, nil, "PINION_HOST=127.0.0.2"); !strings.HasPrefix(got, "http://127.0.0.2:") {
		t.Errorf(`it listens at %s in spite of PINION_HOST, want it to start with "http://127.0.0.2:"`, got)
	}
	if got := listensAt(t, harness.AsFirstProcess(t)); !strings.HasPrefix(got, "http://0.0.0.0:") {
		t.Errorf(`as a container's first process it listens at %s, want it to start with "http://0.0.0.0:"`, got)
	}
}

// TestHost_IPv6InEachForm: an address in brackets, as in URLs, and without.
func TestHost_IPv6InEachForm(t *testing.T) {
	t.Parallel()
	if ln, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skipf("this machine has no IPv6: %v", err)
	} else {
		ln.Close()
	}
	dir := harness.NewFolder(t, "run.py", "def run() -> int: return 1\n")
	for host, want := range map[string]string{"[::1]": "http://[::1]:", "::1": "http://[::1]:", "[::]": "http://[::]:"} {
		s := harness.Ready(t, harness.Options{Dir: dir, Host: host})
		assert.True(t, strings.HasPrefix(s.Address, want), "--host %s: got %s, want %s…", host, s.Address, want)
	}
	code, text := harness.Refused(t, harness.Options{Dir: dir, Host: "localhost:5000"})
	assert.Equal(t, "a host with a port: the exit code", code, 2)
	assert.Contains(t, "a host with a port", text, "--host", "the port has its own flag")
}

// TestCORSOrigin_IsNormalized: a page of an origin that is written otherwise may call the server, and of others none.
func TestCORSOrigin_IsNormalized(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", "def run() -> int: return 1\n")
	s := harness.Ready(t, harness.Options{
		Dir: dir,
		Args: []string{
			"--cors-origin", "HTTPS://App.Example:443/", "--cors-origin",
			"https://*.example.org, http://localhost:*",
		},
	})
	for origin, want := range map[string]int{
		"https://app.example": 200, "https://a.b.example.org": 200, "http://localhost:3000": 200,
		"https://example.org": 403, "http://a.example.org": 403, "https://other.example": 403,
	} {
		got := s.Do(http.MethodPost, "/predictions", map[string]any{"input": map[string]any{}}, "Origin", origin,
			"Sec-Fetch-Site", "cross-site")
		assert.Equal(t, origin, got.Code, want)
	}
	for _, origin := range []string{"app.example", "https://app.example/path", "https://app*.example"} {
		code, text := harness.Refused(t, harness.Options{Dir: dir, Args: []string{"--cors-origin", origin}})
		assert.Equal(t, origin+": the exit code", code, 2)
		assert.Contains(t, origin, text, "--cors-origin "+`"`+origin+`"`)
	}
}
