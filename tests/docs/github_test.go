package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestGitHub_OwnersOfWhatExists: each path of CODEOWNERS is there.
func TestGitHub_OwnersOfWhatExists(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(harness.ReadFile(t, "../.github/CODEOWNERS")) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" || fields[0] == "*" {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", fields[0])); err != nil || len(fields) < 2 {
			t.Errorf("CODEOWNERS: got %q, %v, want a path that is there and its owners", strings.TrimSpace(line), err)
		}
	}
}

// TestGitHub_DependabotFindsManifests: each folder that it looks at has the dependencies of that kind.
func TestGitHub_DependabotFindsManifests(t *testing.T) {
	t.Parallel()
	var settings struct {
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directory   string `yaml:"directory"`
			Directories []string
		}
	}
	assert.NoError(t, yaml.Unmarshal([]byte(harness.ReadFile(t, "../.github/dependabot.yml")), &settings))
	manifests := map[string]string{
		"gomod": "go.mod", "pip": "requirements*.txt", "npm": "package.json", "github-actions": ".github/workflows/*.yml",
	}
	for _, u := range settings.Updates {
		if u.Directory != "" {
			u.Directories = append(u.Directories, u.Directory)
		}
		for _, folder := range u.Directories {
			pattern := filepath.Join("..", folder, manifests[u.Ecosystem])
			if found, err := filepath.Glob(pattern); err != nil || len(found) == 0 {
				t.Errorf("dependabot.yml, %s: got no %s, %v, want some", u.Ecosystem, pattern, err)
			}
		}
	}
	assert.True(t, len(settings.Updates) >= len(manifests),
		"dependabot.yml: got %d kinds of dependencies, want %d", len(settings.Updates), len(manifests))
}

var (
	buildCommand  = regexp.MustCompile(`\./build\.sh ([a-z][a-z-]*)`)
	buildCommands = regexp.MustCompile(`command: \[(.+)\]`)
	workflowRun   = regexp.MustCompile(`(?m)^\s*(?:- )?run: (.+)$`)
	buildFunction = regexp.MustCompile(`(?m)^cmd_([a-z][a-z-]*)\(\)`)
)

// TestGitHub_WorkflowsCallBuildScript: the commands of build.sh that workflows, hooks and the Makefile call are there.
func TestGitHub_WorkflowsCallBuildScript(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, text := range contents(t, "../build.sh", "../tests/*.sh", "../deploy/*.sh", "../deploy/*/*.sh") {
		for _, m := range buildFunction.FindAllStringSubmatch(text, -1) {
			known[m[1]] = true
		}
	}
	for path, text := range contents(t, "../.github/workflows/*.yml", "../.pre-commit-config.yaml", "../.ci/run") {
		var called []string
		for _, m := range buildCommand.FindAllStringSubmatch(text, -1) {
			called = append(called, m[1])
		}
		for _, m := range buildCommands.FindAllStringSubmatch(text, -1) {
			for command := range strings.SplitSeq(m[1], ",") {
				called = append(called, strings.Fields(command)[0])
			}
		}
		assert.True(t, len(called) != 0, "%s calls no command of build.sh, want one", path)
		for _, command := range called {
			assert.True(t, known[command], "%s: got ./build.sh %s, want a command that is there", path, command)
		}
	}
	for path, text := range contents(t, "../.github/workflows/*.yml") {
		for _, m := range workflowRun.FindAllStringSubmatch(text, -1) {
			assert.True(t, strings.HasPrefix(m[1], "./build.sh ") || m[1] == "bash .ci/run",
				"%s runs %q, want a command of build.sh alone", path, m[1])
		}
	}
	makefile := strings.SplitN(harness.ReadFile(t, "../Makefile"), ".PHONY:", 2)
	targets, _, _ := strings.Cut(makefile[len(makefile)-1], "\n")
	for _, command := range strings.Fields(targets) {
		assert.True(t, known[command], "Makefile: got the target %s, want a command of build.sh", command)
	}
}
