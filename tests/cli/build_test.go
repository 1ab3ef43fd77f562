package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestBuild_TakesCogsOptions: each option of cog build reaches the builder, or is refused with what to do instead.
func TestBuild_TakesCogsOptions(t *testing.T) {
	t.Parallel()
	programs := t.TempDir()
	script := "#!/bin/sh\n[ \"$1\" != build ] || echo \"builder got: $*\"\n"
	for _, name := range []string{"docker", "podman"} {
		assert.NoError(t, os.WriteFile(filepath.Join(programs, name), []byte(script), 0o700))
	}
	c := harness.CLI{
		Dir: harness.NewFolder(t, "cog.yaml", "run: run.py:run\n", "run.py", "def run(name: str) -> str:\n    return name\n",
			".cog/openapi_schema.json", "{}"),
		Env: []string{"PATH=" + programs + ":" + os.Getenv("PATH")},
	}
	own := "linux/" + runtime.GOARCH
	for _, o := range []struct {
		options string
		want    string
	}{
		{"-f cog.yaml --use-cuda-base-image auto --use-cog-base-image=false --no-cache", "--no-cache"},
		{"--openapi-schema .cog/openapi_schema.json", "build --file"},
		{"--secret id=a,src=b", "--secret id=a,src=b"},
		{"--progress plain", "--progress plain"},
		{"--progress quiet --builder podman", "--quiet"},
		{"--platform " + own, "--platform " + own},
		{"-- --push", "--push"},
	} {
		assert.Contains(t, "what the builder got with "+o.options,
			c.Good(t, append([]string{"build", "-t", "model"}, strings.Fields(o.options)...)...), o.want)
	}
	for _, o := range []struct{ options, want string }{
		{"-f other.yaml", "--file other.yaml: a model's file is cog.yaml in its folder"},
		{"--progress loud", `--progress "loud": must be auto, tty, plain or quiet`},
		{"--openapi-schema s.json", "copy the file to .cog/openapi_schema.json"},
		{"--use-cuda-base-image false", "give --base IMAGE"},
		{"--use-cog-base-image", "leave the option out, or choose a base by --base IMAGE"},
		{"--platform linux/riscv64", "which is for " + own},
		{"--push", "pinion build -t NAME -- --push"},
		{"--label a=b", "pinion build -t NAME -- --label"},
	} {
		assert.Contains(t, "what it says to "+o.options,
			c.Bad(t, 2, append([]string{"build", "-t", "model"}, strings.Fields(o.options)...)...), o.want)
	}
}
