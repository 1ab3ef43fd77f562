package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
)

// TestWheel_HasTypesOfPackage lets mypy and pyright check a model against the stubs of the wheel.
func TestWheel_HasTypesOfPackage(t *testing.T) {
	mypy := assert.Must(filepath.Abs("../../.cache/lint/bin/mypy"))(t)
	if _, err := os.Stat(mypy); err != nil {
		t.Skip("there is no mypy: ./build.sh lint makes it")
	}
	files := assert.Must(stubs())(t)
	dir := t.TempDir()
	if out, err := exec.Command(filepath.Join(filepath.Dir(mypy), "python"), "-m", "venv", "--without-pip",
		filepath.Join(dir, "venv")).CombinedOutput(); err != nil {
		t.Fatalf("make an environment: got %v, want no error\n%s", err, out)
	}
	sites := assert.Must(filepath.Glob(filepath.Join(dir, "venv/lib/python3.*/site-packages")))(t)
	assert.EqualNow(t, "number of sites", len(sites), 1)
	for _, f := range files {
		path := filepath.Join(sites[0], f.name)
		assert.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.NoError(t, os.WriteFile(path, f.content, 0o644))
	}
	for name, text := range map[string]string{
		"right.py": stubUser,
		"wrong.py": strings.Replace(stubUser, "ge=1", "atleast=1", 1),
	} {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	// The server brings the source, so pyright is told not to look for it, as `pinion init` tells editors.
	assert.NoError(t, os.WriteFile(filepath.Join(dir, "pyrightconfig.json"), []byte(`{"venvPath": ".", "venv": "venv",
		"typeCheckingMode": "strict", "reportMissingModuleSource": "none"}`), 0o644))
	for _, c := range []struct {
		checker []string
		want    map[string]string // by file
	}{
		{
			[]string{"python", "-m", "mypy", "--strict", "--cache-dir", "cache", "--python-executable", "venv/bin/python"},
			map[string]string{"right.py": "Success", "wrong.py": `Unexpected keyword argument "atleast"`},
		},
		{
			[]string{"basedpyright"},
			map[string]string{"right.py": "0 errors, 0 warnings", "wrong.py": `No parameter named "atleast"`},
		},
	} {
		program := filepath.Join(filepath.Dir(mypy), c.checker[0])
		if _, err := os.Stat(program); err != nil {
			t.Errorf("there is no %s: got %v, want no error", program, err)
			continue
		}
		for file, want := range c.want {
			cmd := exec.Command(program, append(slices.Clone(c.checker[1:]), file)...)
			cmd.Dir = dir
			out, _ := cmd.CombinedOutput()
			assert.True(t, strings.Contains(string(out), want), "%q of %s: got %s, want %q", c.checker, file, out, want)
		}
	}
}

const stubUser = `from collections.abc import Iterator

import cog
from cog import BaseRunner, Input, Path, batch, current_scope, streaming


class Runner(BaseRunner):
    @streaming
    def run(self, text: Path, times: int = Input(default=1, ge=1)) -> Iterator[str]:
        current_scope().record_metric("times", times)
        yield from [text.read_text()] * times


class Batched(BaseRunner):
    @batch(max_size=8)
    def run(self, text: list[str]) -> list[str]:
        return [str(cog.call("other", text=item)) for item in text]
`
