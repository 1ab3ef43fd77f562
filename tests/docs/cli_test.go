package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// catModel is what the commands of docs/reference/cli.md are about.
const catModel = `
from typing import Any, Optional
from cog import BaseRunner, Path

class Runner(BaseRunner):
    def run(self, prompt: str = "a dog", steps: int = 1, image: Optional[Path] = None) -> Any:
        return image or f"{prompt} in {steps}"

def train(data: Path, epochs: int = 1) -> str:
    return f"{epochs} epochs"
`

// TestCLI_CommandsOfCLIDocumentWork runs each command line of docs/reference/cli.md, and the examples of each command's
// --help, in the folder of a model. Measurements are cut short.
func TestCLI_CommandsOfCLIDocumentWork(t *testing.T) {
	t.Parallel()
	dir := harness.NewFolder(t, "run.py", catModel, "cog.yaml", "run: run.py:Runner\ntrain: run.py:train\n", "photo.jpg",
		"\xff\xd8\xff", "pictures.zip", "PK")
	for _, file := range []string{"run.py", "cog.yaml"} { // the folder ocr of the examples
		harness.WriteFile(t, filepath.Join(dir, "ocr", file), harness.ReadFile(t, filepath.Join(dir, file)))
	}
	bin := t.TempDir()
	assert.NoError(t, os.Symlink(harness.Binary(t), filepath.Join(bin, "pinion")))
	for _, builder := range []string{"docker", "podman"} { // pinion build runs up to the builder
		assert.NoError(t, os.WriteFile(filepath.Join(bin, builder), []byte("#!/bin/sh\n"), 0o755))
	}
	var lines []string
	for _, c := range harness.Commands(t) {
		if filepath.Base(c.Document) == "cli.md" {
			lines = append(lines, c.Line)
		}
	}
	for _, name := range []string{
		"predict", "train", "bench", "schema", "check", "init", "serve", "dockerfile", "build",
		"doctor", "ps",
	} {
		help := harness.CLI{}.Good(t, "help", name)
		for _, line := range regexp.MustCompile(`(?m)^  ((?:.* \| )?pinion .*)$`).FindAllStringSubmatch(help, -1) {
			if !strings.Contains(line[1], "[flags]") {
				lines = append(lines, line[1])
			}
		}
	}
	slices.Sort(lines)
	if lines = slices.Compact(lines); len(lines) < 8 { // most stand in both
		t.Fatalf("only %d commands found: %q, want at least 8", len(lines), lines)
	}
	s := harness.Ready(t, harness.Options{Dir: dir, Args: []string{"--queue", "64"}})
	python := harness.AnyPython(t).Path
	for _, line := range lines {
		t.Run(line, func(t *testing.T) {
			text := strings.ReplaceAll(line, "http://localhost:5000", s.Address)
			text = regexp.MustCompile(`-d \d+s`).ReplaceAllString(text, "")
			text = strings.Replace(text, "pinion bench", "pinion bench -d 200ms --warmup 0", 1)
			text = strings.Replace(text, "pinion serve", "pinion serve --help", 1)
			cmd := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", text)
			cmd.Dir = dir
			cmd.Env = append(harness.BareEnv(), "PINION_PYTHON="+python, "TMPDIR="+t.TempDir())
			for i, variable := range cmd.Env {
				if path, ok := strings.CutPrefix(variable, "PATH="); ok {
					cmd.Env[i] = "PATH=" + bin + ":" + path
				}
			}
			out, err := cmd.CombinedOutput()
			assert.True(t, err == nil, "%s: got %v, want no error\n%s", text, err, out)
		})
	}
}
