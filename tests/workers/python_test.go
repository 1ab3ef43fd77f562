package workers

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestPython_HelloIsServedByEachPython(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Dir: harness.Example(t, "hello")})
		harness.EqualJSON(t, "default", s.Succeed(harness.Input{}).Output, `"hello world"`)
		a := s.Create(`{"id":"my-id","input":{"name":"Zoë"},"created_at":"2020-01-02T03:04:05Z"}`)
		harness.EqualJSON(t, "output", a.Output, `"hello Zoë"`)
		created, err := time.Parse(time.RFC3339, a.CreatedAt)
		assert.True(t, err == nil && created.Equal(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)),
			"created_at is %q: %v: got %v, want %v", a.CreatedAt, err, created, time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))
		assert.True(t, a.ID == "my-id" && a.StartedAt != "" && a.CompletedAt >= a.StartedAt,
			"got %s, want ID my-id, StartedAt non-empty and CompletedAt at least %q", a, a.StartedAt)
		if seconds, ok := a.Metrics["predict_time"].(float64); !ok || seconds <= 0 || seconds > 60 {
			t.Errorf("predict_time is %v: got ok %t, seconds %v, want ok true and seconds more than 0 and at most 60",
				a.Metrics["predict_time"], ok, seconds)
		}
		h := s.Health()
		assert.True(t, h.Status == "READY" && h.Setup.Status == "succeeded" && h.Setup.StartedAt != "" &&
			h.Setup.CompletedAt >= h.Setup.StartedAt, "health is %+v, want READY after a setup that succeeded", h)
		assert.True(t, h.Version["python"] == python.Version && h.Version["cog"] != "" && h.Version["pinion"] != "",
			"versions are %v, want Python %s", h.Version, python.Version)
	})
}

// surroundings compares what a model sees with what a program sees that the same interpreter runs.
func surroundings(t *testing.T, python string, env ...string) map[string]any {
	t.Helper()
	s := harness.Ready(t, harness.Options{Python: python, Model: "facts.py", Env: env})
	var inside, outside map[string]any
	s.Succeed(harness.Input{}).Decode(t, &inside)
	plain := harness.RunPython(t, python, s.Dir, env, "facts.py")
	harness.FromJSON(t, plain, &outside)
	for name, want := range outside {
		got := inside[name]
		if name == "path" { // before it stands the model's folder, which here is the first entry, as it is the script's there
			list, _ := got.([]any)
			if len(list) == 0 || list[0] != s.Dir {
				t.Errorf("sys.path[1] is %v, want the model's folder", got)
				continue
			}
			got = list[1:]
		}
		g, _ := json.Marshal(got)  // decoded from JSON
		w, _ := json.Marshal(want) // the same
		assert.Equal(t, name+": in the model", string(g), string(w))
	}
	return inside
}

func TestPython_ModelSeesWhatProgramSees(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"installation": nil, "venv": {"--symlinks"}, "copied venv": {"--copies"},
		"venv with system packages": {"--system-site-packages"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			harness.EachPython(t, func(t *testing.T, python harness.Python) {
				path := python.Path
				if flags != nil {
					path = harness.Venv(t, python, flags...)
				}
				facts := surroundings(t, path)
				assert.Equal(t, "sys.executable", facts["executable"], any(path))
				modules, _ := facts["modules"].(map[string]any)
				pip, _ := modules["pip"].(string)
				if flags != nil && flags[0] != "--system-site-packages" && pip != "missing" { // it was made without
					t.Errorf("pip is %v, want missing", pip)
				}
			})
		})
	}
}

func TestPython_VirtualEnvironmentInModelsFolderIsTaken(t *testing.T) {
	t.Parallel()
	dir := harness.Models(t)
	venv := filepath.Dir(filepath.Dir(harness.Venv(t, harness.AnyPython(t))))
	assert.NoError(t, os.Symlink(venv, filepath.Join(dir, ".venv")))
	other := harness.Venv(t, harness.AnyPython(t))
	for name, c := range map[string]struct {
		env  []string
		want string
	}{
		"folder": {nil, filepath.Join(dir, ".venv/bin/python3")},
		"VIRTUAL_ENV": {
			[]string{"VIRTUAL_ENV=" + filepath.Dir(filepath.Dir(other))},
			filepath.Join(filepath.Dir(other), "python3"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := harness.Ready(t, harness.Options{Python: "none", Dir: dir, Model: "facts.py:run", Env: c.env})
			var facts map[string]any
			s.Succeed(harness.Input{}).Decode(t, &facts)
			assert.Equal(t, "sys.executable", facts["executable"], any(c.want))
		})
	}
}

// TestPython_InstalledServerTakesPythonOfItsEnvironment: the command stands there as its wheel installs it, and nothing
// else names an environment.
func TestPython_InstalledServerTakesPythonOfItsEnvironment(t *testing.T) {
	t.Parallel()
	bin := filepath.Dir(harness.Venv(t, harness.AnyPython(t)))
	installed := filepath.Join(bin, "pinion")
	// By another process: a file that this one has open for writing when it starts a child cannot be run.
	out, err := exec.Command("cp", harness.Binary(t), installed).CombinedOutput()
	assert.NoError(t, err, "copy the command", out)
	dir := harness.NewFolder(t, "cog.yaml", "run: run.py:run\n", "run.py",
		"import sys\n\n\ndef run() -> str:\n    return sys.executable\n")
	cmd := exec.Command(installed, "predict", dir)
	cmd.Env = append(harness.BareEnv(), "TMPDIR="+harness.ShortTempDir(t))
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != filepath.Join(bin, "python3") {
		t.Errorf("its Python is %q, %v, want that of %s", out, err, bin)
	}
}

func TestPythons_OwnVariablesCount(t *testing.T) {
	t.Parallel()
	extra := harness.NewFolder(t, "numpy.py", "")
	python := harness.AnyPython(t).Path
	for name, env := range map[string][]string{
		"PYTHONPATH": {"PYTHONPATH=" + extra}, "buffering": {"PYTHONUNBUFFERED=1"}, "bytecode": {"PYTHONDONTWRITEBYTECODE=1"},
		"optimize": {"PYTHONOPTIMIZE=1"}, "C locale": {"LANG=C"},
		"no UTF-8":  {"LC_ALL=POSIX", "PYTHONCOERCECLOCALE=0", "PYTHONUTF8=0"},
		"safe path": {"PYTHONSAFEPATH=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "safe path" { // then the folder is not on a program's path, but a model's folder always is
				s := harness.Ready(t, harness.Options{Model: "printing.py:Runner", Env: env})
				s.Succeed(harness.Input{"what": "mixed"})
				return
			}
			facts := surroundings(t, python, env...)
			modules, _ := facts["modules"].(map[string]any)
			assert.True(t, name != "PYTHONPATH" || modules["numpy"] == filepath.Join(extra, "numpy.py"),
				"numpy is %v, not that of PYTHONPATH, want %q", modules["numpy"], filepath.Join(extra, "numpy.py"))
		})
	}
}

// TestPython_TextIsSameInEveryEnvironment: buffering and locale must not lose, reorder or break what a model prints.
func TestPython_TextIsSameInEveryEnvironment(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{
		"plain": nil, "unbuffered": {"PYTHONUNBUFFERED=1"}, "no bytecode": {"PYTHONDONTWRITEBYTECODE=1"},
		"both": {"PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1"}, "C": {"LANG=C"},
		"ASCII": {"LC_ALL=POSIX", "PYTHONCOERCECLOCALE=0", "PYTHONUTF8=0"}, "encoding": {"PYTHONIOENCODING=latin-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Ready(t, harness.Options{Model: "printing.py", Env: env})
			a := s.Succeed(harness.Input{"what": "mixed", "n": 3})
			assert.Equal(t, "logs", a.Logs, "out 0\nerr 0\nout 1\nerr 1\nout 2\nerr 2\n")
			a = s.Succeed(harness.Input{"what": "accents"})
			assert.Equal(t, "logs", a.Logs, "grün \U0001f600\n")
			var cached []string
			if name == "plain" || name == "no bytecode" {
				cached, _ = filepath.Glob(filepath.Join(s.Dir, "__pycache__", "printing.*"))
				wrote := len(cached) > 0
				assert.True(t, wrote == (name == "plain"), "bytecode is written: %v, want %t", wrote, name == "plain")
			}
		})
	}
}

func TestPython_ServersOwnAffairsStayOutOfModelsEnvironment(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{
			Python: python.Path, Model: "facts.py:environment",
			Env: []string{"MINE=1", "PYTHONPATH=/mine", "WEBHOOK_AUTH_TOKEN=hunter2"},
		})
		var environment map[string]string
		s.Succeed(harness.Input{}).Decode(t, &environment)
		assert.Equal(t, "the user's own variable", environment["MINE"], "1")
		_, ok := environment["PINION_WORKER"]
		assert.False(t, ok, "PINION_WORKER is visible")
		value, ok := environment["GOGC"]
		assert.False(t, ok, "got GOGC=%s in the model's environment, want none", value)
		_, ok = environment["WEBHOOK_AUTH_TOKEN"]
		assert.False(t, ok, "the token of webhooks is visible to the model")
		path := strings.Split(environment["PYTHONPATH"], ":")
		assert.EqualNow(t, "parts of the path", len(path), 2)
		assert.Equal(t, "second part of the path", path[1], "/mine")
	})
}

func TestPython_RelativePathsAndPickleWorkAsInProgram(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "facts.py:relative"})
		harness.EqualJSON(t, "output", s.Succeed(harness.Input{}).Output,
			`["a note beside the model", "facts.py", "facts", "facts", true, 3]`)
	})
}

func TestPython_StandardStreamsAreUsable(t *testing.T) {
	t.Parallel()
	s := harness.Ready(t, harness.Options{Model: "facts.py:streams"})
	a := s.Succeed(harness.Input{})
	harness.EqualJSON(t, "output", a.Output,
		`{"stdin": "", "encoding": "utf-8", "fileno": [1, 2], "isatty": false, "dont_write_bytecode": false}`)
	assert.Equal(t, "logs", a.Logs, "grün\n")
}

func TestPython_ModelMayHandleSignalsThatWeDoNotUse(t *testing.T) {
	t.Parallel()
	harness.EachPython(t, func(t *testing.T, python harness.Python) {
		s := harness.Ready(t, harness.Options{Python: python.Path, Model: "facts.py:saved_signals"})
		harness.EqualJSON(t, "output", s.Succeed(harness.Input{}).Output,
			`["SIGUSR2", "SIGHUP", "SIGALRM", "SIGTERM", "SIGINT"]`)
	})
}

// TestPython_ModelSeesUsersGOGC: what keeps Go's collector off in a worker is not seen, what the user has set is.
func TestPython_ModelSeesUsersGOGC(t *testing.T) {
	t.Parallel()
	for _, preload := range [][]string{nil, {"--preload"}} {
		s := harness.Ready(t, harness.Options{Model: "facts.py:environment", Env: []string{"GOGC=off"}, Args: preload})
		var environment map[string]string
		s.Succeed(harness.Input{}).Decode(t, &environment)
		assert.Equal(t, "the user's GOGC", environment["GOGC"], "off")
	}
	s := harness.Ready(t, harness.Options{Model: "facts.py:environment", Args: []string{"--preload"}})
	var environment map[string]string
	s.Succeed(harness.Input{}).Decode(t, &environment)
	value, ok := environment["GOGC"]
	assert.False(t, ok, "got GOGC=%s in a forked worker, want none", value)
}
