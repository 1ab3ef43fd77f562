package cli

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestStart_PythonThatCannotServeIsRefusedBeforeAnythingListens(t *testing.T) {
	t.Parallel()
	python := harness.AnyPython(t)
	script := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		assert.NoError(t, os.WriteFile(path, []byte(text), 0o755))
		return path
	}
	// A stand-in answers the question that the locator asks an interpreter that is not an ELF file.
	placeholder := func(changes string) string {
		return script("python3", fmt.Sprintf(`#!%s
import sys, sysconfig
%s
sys.argv = sys.argv[sys.argv.index("-c"):]
exec(sys.argv[1])
`, python.Path, changes))
	}
	cases := []struct {
		name, python string
		want         []string
	}{
		{"not there", "/nowhere/python3", []string{"--python", "/nowhere/python3", "does not exist"}},
		{"no program", script("text", ""), []string{"text"}},
		{"free-threaded", placeholder(`real = sysconfig.get_config_var
sysconfig.get_config_var = lambda name: 1 if name == "Py_GIL_DISABLED" else real(name)
`), []string{"free-threaded"}},
		{"no shared library", placeholder(`real = sysconfig.get_config_var
own = {"LIBDIR": "/nowhere/lib", "INSTSONAME": "libpython3.99.a", "LDLIBRARY": "libpython3.99.a"}
sysconfig.get_config_var = lambda name: own.get(name) or real(name)
sys.base_prefix = sys.prefix = "/nowhere"
sys.executable = sys.argv[0]
`), []string{"libpython"}},
	}
	for _, old := range []string{"3.9", "3.8", "3.6", "2.7"} {
		found, _ := filepath.Glob(os.Getenv("HOME") + "/.pyenv/versions/" + old + ".*/bin/python")
		for _, path := range found {
			cases = append(cases, struct {
				name, python string
				want         []string
			}{old, path, []string{old, "3.10"}})
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code, text := harness.Refused(t, harness.Options{Python: c.python, Model: "echo.py:run"})
			assert.Equal(t, "exit code", code, 2)
			message, page, _ := strings.Cut(text, "\n")
			assert.True(t, strings.HasPrefix(message, "pinion: ") && strings.HasPrefix(page, "See ") &&
				strings.Count(page, "\n") == 1, "got %q, want one line for people and one that names a page", text)
			for _, want := range c.want {
				assert.Contains(t, "the message", text, want)
			}
		})
	}
}

func TestStart_LibPythonThatIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "libpython.so")
	harness.WantRefused(t, harness.Options{Model: "echo.py:run", Args: []string{"--libpython", missing}}, 2, missing)
}

func TestStart_ModelComesFromFlagVariableOrCogYAML(t *testing.T) {
	t.Parallel()
	folder := func(t *testing.T, yaml string) string {
		dir := harness.Models(t)
		harness.WriteFile(t, filepath.Join(dir, "cog.yaml"), yaml)
		return dir
	}
	for _, c := range []struct {
		name, yaml, flag string
		env              []string
		want             string
	}{
		{"run", "run: setups.py:plain\n", "", nil, "2"},
		{"predict", "predict: setups.py:plain\n", "", nil, "2"},
		{"variable", "run: nowhere.py:X\n", "", []string{"COG_PREDICT_TYPE_STUB=setups.py:plain"}, "2"},
		{"flag", "run: nowhere.py:X\n", "setups.py:plain", []string{"COG_PREDICT_TYPE_STUB=nowhere.py:X"}, "2"},
		{
			"environment and concurrency", "run: tasks.py:plain\nconcurrency:\n  max: 3\nenvironment:\n  - COLOUR=red=\n", "",
			nil, "2",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := harness.Ready(t, harness.Options{Dir: folder(t, c.yaml), Model: c.flag, Env: c.env})
			harness.EqualJSON(t, "output", s.Succeed(harness.Input{}).Output, c.want)
		})
	}
	s := harness.Ready(t, harness.Options{Dir: folder(t, "run: facts.py:environment\nenvironment:\n  - COLOUR=red=\n")})
	var environment map[string]string
	s.Succeed(harness.Input{}).Decode(t, &environment)
	assert.Equal(t, "COLOUR", environment["COLOUR"], "red=")
}

func TestStart_ServesOnUnixSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(harness.ShortTempDir(t), "socket")
	// One that a dead server left: a socket file without a listener.
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	assert.NoError(t, err)
	old.SetUnlinkOnClose(false)
	old.Close()
	s := harness.Ready(t, harness.Options{Model: "echo.py:run", Host: "unix:" + path})
	harness.EqualJSON(t, "output", s.Succeed(harness.Input{"value": harness.Input{}}).Output, "{}")

	harness.WantRefused(t, harness.Options{Model: "echo.py:run", Host: "unix:" + path}, 1, "in use")
	s.Succeed(harness.Input{"value": harness.Input{}}) // the first has not lost it
	s.Stop()
	_, err = os.Stat(path)
	assert.True(t, os.IsNotExist(err), "the socket file is left: %v, want os.ErrNotExist", err)
}

func TestStart_PortThatIsTakenEndsStart(t *testing.T) {
	t.Parallel()
	taken := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String()) // it is one of net's own
	code, text := harness.Refused(t, harness.Options{Model: "echo.py:run", Args: []string{"--port", port}})
	owner := fmt.Sprintf("process %d (%s", os.Getpid(), harness.CommandLine(os.Getpid())[:20])
	for _, want := range []string{port, "in use", owner, "-p 0", "PORT="} {
		assert.Equal(t, "code", code, 1)
		assert.Contains(t, "text", text, want)
	}
	// taken has the port of another address: it is not what is in the way.
	const alone = "127.9.9.9" // where no other test listens
	harness.WantRefused(t, harness.Options{
		Model: "echo.py:run", Host: alone, Args: []string{"--port", port, "--metrics-port", port, "--metrics-host", alone},
	}, 1, "in use: by this server itself; choose another port with --metrics-port")
}

func TestStart_OnlyRunFoldersAreRemoved(t *testing.T) {
	t.Parallel()
	tmp := harness.ShortTempDir(t)
	hourAgo := time.Now().Add(-time.Hour)
	folder := func(name string, files ...string) string {
		path := filepath.Join(tmp, name)
		assert.NoError(t, os.Mkdir(path, 0o700))
		for _, file := range files {
			harness.WriteFile(t, filepath.Join(path, file), "")
		}
		assert.NoError(t, os.Chtimes(path, hourAgo, hourAgo))
		return path
	}
	stay := []string{
		folder("pinion-models", "weights"), folder("pinion-src", "lock"), folder("pinion-empty"),
		folder("pinion-run-mine", "weights"),
	}
	leftovers := []string{folder("pinion-run-1", "lock"), folder("pinion-run-2"), folder("pinion-run-3", "lock.new")}
	s := harness.Ready(t, harness.Options{Model: "echo.py:text", Tmp: tmp})
	s.Stop()
	for _, path := range stay {
		_, err := os.Stat(path)
		assert.True(t, err == nil, "what is not ours was removed: got %v, want no error", err)
	}
	for _, path := range leftovers {
		_, err := os.Stat(path)
		assert.True(t, os.IsNotExist(err), "the leftover %s is still there: %v, want os.ErrNotExist", path, err)
	}
}

func TestStart_RunFolderOfKilledServerIsRemovedByNext(t *testing.T) {
	t.Parallel()
	tmp := harness.ShortTempDir(t)
	folders := func() []string {
		found, _ := filepath.Glob(filepath.Join(tmp, "pinion-*"))
		return found
	}
	first := harness.Ready(t, harness.Options{Model: "echo.py:run", Tmp: tmp})
	left := folders()
	assert.EqualNow(t, fmt.Sprintf("run folders: %q", left), len(left), 1)
	second := harness.Ready(t, harness.Options{Model: "echo.py:run", Tmp: tmp})
	got := len(folders())
	assert.True(t, got == 2, "the second server removed a folder in use: %q: got %d, want 2", folders(), got)
	first.Succeed(harness.Input{"value": harness.Input{}})
	first.Kill()
	_, err := os.Stat(left[0])
	assert.NoError(t, err, "nothing is left to be removed")
	third := harness.Ready(t, harness.Options{Model: "echo.py:run", Tmp: tmp})
	_, err = os.Stat(left[0])
	assert.True(t, os.IsNotExist(err), "the dead server's folder is still there: %v, want os.ErrNotExist", err)
	second.Succeed(harness.Input{"value": harness.Input{}})
	second.Stop()
	third.Succeed(harness.Input{"value": harness.Input{}})
	third.Stop()
	left = folders()
	assert.True(t, len(left) == 0, "folders are left: %q", left)
}

// TestStart_CachedPackageIsUsedOnlyWhereItCanBeTrusted: no folder to keep it in, and one in which something was
// changed.
func TestStart_CachedPackageIsUsedOnlyWhereItCanBeTrusted(t *testing.T) {
	t.Parallel()
	serve := func(cache string) {
		t.Helper()
		s := harness.Ready(t, harness.Options{Model: "echo.py:text", Env: []string{"XDG_CACHE_HOME=" + cache}})
		harness.EqualJSON(t, "output", s.Succeed(harness.Input{"text": "x"}).Output, `"x"`)
		s.Stop()
	}
	serve("/dev/null/nothing")
	cache := t.TempDir()
	serve(cache)
	cached, _ := filepath.Glob(filepath.Join(cache, "pinion", "*", "cog", "__init__.py")) // a fixed pattern
	assert.EqualNow(t, fmt.Sprintf("kept are %q", cached), len(cached), 1)
	harness.WriteFile(t, cached[0], "raise SystemExit('changed')\n")
	serve(cache)
}

// TestStart_ServersVariablesMayStandInCogYAML: Cog makes them part of the image, and the environment may say otherwise.
func TestStart_ServersVariablesMayStandInCogYAML(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", `
import os

class Runner:
    def setup(self, weights):
        self.weights = weights

    async def run(self) -> list[str]:
        return [self.weights, *(os.environ.get(name, "-") for name in ("COG_WEIGHTS", "GIVEN", "EMPTY", "TWICE"))]
`, "cog.yaml", `run: run.py:Runner
environment:
  - COG_WEIGHTS=https://example.com/weights.tar
  - COG_MAX_CONCURRENCY=3
  - GIVEN=in cog.yaml
  - EMPTY=in cog.yaml
  - TWICE=first
  - TWICE=second
`)
	s := harness.Ready(t, harness.Options{Dir: dir, Env: []string{"GIVEN=from outside", "EMPTY="}})
	harness.EqualJSON(t, "output", s.Succeed(harness.Input{}).Output,
		`["https://example.com/weights.tar","https://example.com/weights.tar","from outside","","second"]`)
	assert.Contains(t, "the worker is not that of cog.yaml", s.WaitLog("worker ready").Raw, `"slots":3`)
	s = harness.Ready(t, harness.Options{Dir: dir, Env: []string{"COG_MAX_CONCURRENCY=1", "COG_WEIGHTS=other"}})
	harness.EqualJSON(t, "output", s.Succeed(harness.Input{}).Output,
		`["other","other","in cog.yaml","in cog.yaml","second"]`)
}
