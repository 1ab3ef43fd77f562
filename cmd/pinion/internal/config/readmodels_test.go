package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"pinion/tests/assert"
)

// modelFolders makes the folders a and b, each with a predictor, and a file of models beside them.
func modelFolders(t *testing.T, file string) (path string) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "empty"} {
		assert.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	for _, name := range []string{"a", "b"} {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, name, "run.py"), []byte("def run() -> int: return 1\n"), 0o644))
	}
	path = filepath.Join(dir, "pinion.yaml")
	assert.NoError(t, os.WriteFile(path, []byte(file), 0o644))
	return path
}

func givenFlags(t *testing.T, args ...string) *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&Serve{}).BindFlags(f)
	assert.NoError(t, f.Parse(args))
	return f
}

// TestReadmodels_ModelsFile reads a file as it should be: keys before flags, flags before variables, and paths from the
// file's folder.
func TestReadmodels_ModelsFile(t *testing.T) {
	path := modelFolders(t, `
default: b
memory: 20GiB
models:
  a: {path: ./a, workers: 2, queue: 7, gpus: "0;1", load: on-demand, idle-timeout: 10m, memory: 2GiB, preload: true}
  b:
    path: b
    validate-output: "off"
    result-ttl: 90s
`)
	t.Setenv("PINION_QUEUE", "5")
	t.Setenv("PINION_CANCEL_GRACE", "3s")
	models := assert.Must(readFile(path, givenFlags(t, "--port", "0", "--queue-timeout", "9s", "--workers", "3")))(t)
	assert.EqualNow(t, "memory", models.Memory, 20<<30)
	assert.EqualNow(t, "number of models", len(models.List), 2)
	b, a := models.List[0], models.List[1] // the default comes first
	if a.Name != "a" || a.Found.Dir != filepath.Join(filepath.Dir(path), "a") ||
		b.Found.Dir != filepath.Join(filepath.Dir(path), "b") {
		t.Errorf("%s is %s, %s is %s, want the folders a and b beside %s", a.Name, a.Found.Dir, b.Name, b.Found.Dir, path)
	}
	if s := a.Settings; a.GPUs.Workers != 2 || s.Queue != 7 || s.QueueTimeout != 9*time.Second ||
		s.Fleet.Preload != PreloadImports || s.CancelGrace != 3*time.Second ||
		s.Loading != (Loading{OnDemand, 10 * time.Minute, 2 << 30}) {
		t.Errorf("a: got %d workers, %+v, want its own values before the common ones", a.GPUs.Workers, s)
	}
	if s := b.Settings; b.GPUs.Workers != 3 || s.Queue != 5 || s.outputs != "off" || s.ResultTTL != 90*time.Second ||
		s.Loading.When != AtStartup {
		t.Errorf("b: got %d workers, %+v, want the common values", b.GPUs.Workers, s)
	}
}

// TestReadmodels_ModelsFileFirst: without a default it is the first.
func TestReadmodels_ModelsFileFirst(t *testing.T) {
	models := assert.Must(readFile(modelFolders(t, "models: {b: {path: b}, a: {path: a}}"), givenFlags(t)))(t)
	assert.Equal(t, "name of the first model", models.List[0].Name, "b")
}

// TestReadmodels_ModelsFileMistakes: each is named with its line and what would be right.
func TestReadmodels_ModelsFileMistakes(t *testing.T) {
	for name, c := range map[string]struct{ file, want, fix string }{
		"nothing":           {"", ": the file is empty", "name the models"},
		"a list":            {"- a\n", ":1: the file is a list: must be a mapping", ""},
		"no YAML":           {"models:\n  a: {path: a}\n b: {path: b}\n", ":3: ", "fix the YAML"},
		"two documents":     {"models: {a: {path: a}}\n---\nx: 1\n", ":3: another YAML document begins here", "---"},
		"no models":         {"default: a\n", ": the file has no models", "name them under models"},
		"models of nothing": {"models:\n", ":1: models is nothing: must be a mapping", ""},
		"an empty mapping":  {"default: a\nmodels: {}\n", `:1: default: unknown model "a"`, ""},
		"an unknown key":    {"modles: {a: {path: a}}\n", `:1: unknown key "modles"`, `did you mean "models"?`},
		"a server's flag": {
			"port: 80\nmodels: {a: {path: a}}\n", `:1: unknown key "port"`,
			"give it on the command line, as --port",
		},
		"a model's key": {"queue: 80\nmodels: {a: {path: a}}\n", `:1: unknown key "queue"`, "write it below its name"},
		"a key twice": {
			"models: {a: {path: a}}\nmodels: {b: {path: b}}\n",
			`:2: "models" is given twice, first in line 1`, "",
		},
		"a name twice": {
			"models:\n  a: {path: a}\n  a: {path: b}\n",
			`:3: models: "a" is given twice, first in line 2`, "remove one",
		},
		"a bad name":        {"models:\n  -a: {path: a}\n", `:2: invalid model name "-a"`, "begins with a letter or digit"},
		"a model in short":  {"models:\n  a: a\n", ":2: a is a text: must be a mapping", "write it as a: {path: DIR}"},
		"no path":           {"models:\n  a: {queue: 1}\n", ":2: a has no path", "add path: DIR"},
		"a misspelt key":    {"models:\n  a:\n    path: a\n    queu: 1\n", `:4: a: unknown key "queu"`, `did you mean "queue"?`},
		"a path of nothing": {"models:\n  a:\n    path:\n", ":3: path is nothing: must be one value", ""},
		"a server's key":    {"models:\n  a:\n    path: a\n    max-body: 1\n", `:4: a: unknown key "max-body"`, "--max-body"},
		"a model's key twice": {
			"models:\n  a:\n    path: a\n    queue: 1\n    queue: 2\n",
			`:5: a: "queue" is given twice, first in line 4`, "",
		},
		"a list for a value": {"models:\n  a:\n    path: a\n    queue: [1]\n", ":4: queue is a list: must be one value", ""},
		"no number":          {"models:\n  a:\n    path: a\n    queue: many\n", `:4: a: queue "many": must be a whole number`, ""},
		"too few":            {"models:\n  a:\n    path: a\n    queue: -1\n", ":4: a: queue -1: must be at least 0", ""},
		"a time of no unit": {
			"models:\n  a:\n    path: a\n    idle-timeout: 10\n",
			`:4: a: idle-timeout "10": must be a time with its unit`, "",
		},
		"no time to load": {
			"models:\n  a:\n    path: a\n    load: later\n",
			`:4: a: load "later": must be startup, on-demand or manual`, "",
		},
		"no size":         {"memory: lots\nmodels: {a: {path: a}}\n", `:1: memory: invalid size "lots"`, "20GiB"},
		"no such default": {"models: {ab: {path: a}}\ndefault: ba\n", `:2: default: unknown model "ba"`, ""},
		"no folder":       {"models:\n  a: {path: c}\n", ":2: a: ", "/c does not exist: name the folder that holds cog.yaml"},
		"no model there":  {"models:\n  a: {path: empty}\n", ":2: a: ", "names no predictor"},
		"no Python":       {"models:\n  a:\n    path: a\n    python: ./none/bin/python\n", ":4: a: ", "none/bin/python"},
		"all at once": {
			"models:\n  a: {path: a, queu: 1}\n  b: {path: b, wokers: 1}\n", `:2: a: unknown key "queu"`,
			`:3: b: unknown key "wokers"`,
		},
		"values of all": {
			"models:\n  a: {path: a, queue: x}\n  b: {path: b, workers: 0}\n", `:2: a: queue "x"`, `:3: b: workers`,
		},
	} {
		path := modelFolders(t, c.file)
		_, err := readFile(path, givenFlags(t))
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), path+c.want) && strings.Contains(err.Error(), c.fix),
			"%s: %v\nwant %s…%s", name, err, c.want, c.fix)
	}
}

// TestReadmodels_FlagsWithoutEffectAreNamed, if no model lets them work.
func TestReadmodels_FlagsWithoutEffectAreNamed(t *testing.T) {
	server, given := parsed(t, []string{"--fail-fast", "--replay-puts"})
	idle := Named{Settings: &Model{Loading: Loading{When: OnDemand}}}
	active := Named{Settings: &Model{Loading: Loading{When: AtStartup}, ResultTTL: time.Minute}}
	want := []string{"--fail-fast has no effect without --load startup", "--replay-puts has no effect with --result-ttl 0"}
	got := (&Models{List: []Named{idle, idle}}).idle(given, server)
	assert.True(t, slices.Equal(got, want), "got %q, want %q", got, want)
	got = (&Models{List: []Named{idle, active}}).idle(given, server)
	assert.True(t, got == nil, "got %q beside a model that they are for, want none", got)
}
