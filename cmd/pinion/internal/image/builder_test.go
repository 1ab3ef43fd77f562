package image

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/cmd/pinion/internal/process"
	"pinion/tests/assert"
)

// programs makes a folder with programs and puts it alone on the PATH.
func programs(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700))
	}
	t.Setenv("PATH", dir)
	return dir
}

func TestBuilder_Find(t *testing.T) {
	const works, dead = "exit 0\n", "echo 'one line' >&2; echo 'Cannot connect to the Docker daemon' >&2; exit 1\n"
	for _, c := range []struct {
		name    string
		scripts map[string]string
		ask     string
		want    string
		says    []string
	}{
		{"docker first", map[string]string{"docker": works, "podman": works, "buildah": works}, "", "docker", nil},
		{"docker without a daemon", map[string]string{"docker": dead, "buildah": works}, "", "buildah", nil},
		{
			"docker without buildx",
			map[string]string{"docker": `[ "$1" != buildx ]` + "\n", "podman": works},
			"", "podman",
			nil,
		},
		{"as asked", map[string]string{"docker": works, "podman": works}, "podman", "podman", nil},
		{
			"asked for what is not there",
			map[string]string{"docker": works},
			"buildah", "",
			[]string{"buildah: not on the PATH", "pinion dockerfile"},
		},
		{
			"none",
			map[string]string{"docker": dead},
			"", "",
			[]string{"docker: Cannot connect to the Docker daemon", "podman: not on the PATH", "buildah: not on the PATH"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			programs(t, c.scripts)
			b, err := FindBuilder(c.ask)
			assert.True(t, (b != nil) == (c.want != "") && (b == nil || b.Name == c.want), "found %v, %v; want %q", b, err, c.want)
			for _, text := range c.says {
				assert.True(t, err != nil && strings.Contains(err.Error(), text), "it says %v, want %s", err, text)
			}
		})
	}
}

func TestBuilder_BuildRunsProgram(t *testing.T) {
	o := Build{
		Dockerfile: "/d/Dockerfile", Context: "/c", Contexts: [][2]string{{"pinion", "/p"}}, Tags: []string{"a", "b"},
		Args: []string{"BASE=x"}, Secrets: []string{"id=s,src=f"}, NoCache: true, More: []string{"--pull"},
	}
	common := []string{
		"--build-context", "pinion=/p", "--tag", "a", "--tag", "b", "--build-arg", "BASE=x", "--secret", "id=s,src=f",
		"--no-cache", "--pull", "/c",
	}
	for _, name := range BuilderNames() {
		dir := programs(t, map[string]string{name: `[ "$1" != build ] || printf '%s\n' "$@" >"${0%/*}/args"` + "\n"})
		b := assert.Must(FindBuilder(""))(t)
		assert.NoError(t, b.Build(context.Background(), o))
		text := assert.Must(os.ReadFile(filepath.Join(dir, "args")))(t)
		want := []string{"build", "--file", "/d/Dockerfile"}
		if name != "docker" {
			want = append(want, "--format", "docker", "--layers", "--ignorefile", "/d/Dockerfile.dockerignore")
		}
		assert.EqualSlices(t, name, strings.Split(strings.TrimSpace(string(text)), "\n"), append(want, common...))
	}
}

func TestBuilder_BuildSaysWhatFailed(t *testing.T) {
	programs(t, map[string]string{"podman": `[ "$1" != build ]` + "\n"})
	b, err := FindBuilder("")
	assert.NoError(t, err)
	err = b.Build(context.Background(), Build{})
	assert.True(t, err != nil && strings.Contains(err.Error(), "podman build: exit status 1"),
		`it says %v, want an error and err with "podman build: exit status 1"`, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, "interrupted", b.Build(ctx, Build{}), process.ErrInterrupted)
}
