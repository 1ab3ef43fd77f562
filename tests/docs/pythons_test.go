package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// servedPythons returns the range of versions that the binary says it serves: "3.10 to 3.15".
func servedPythons(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "cog.yaml"), "run: run.py:Runner\nbuild:\n  python_version: \"3.99\"\n")
	harness.WriteFile(t, filepath.Join(dir, "run.py"), "from cog import BaseRunner\n\n\nclass Runner(BaseRunner):\n"+
		"    def run(self) -> str:\n        return \"\"\n")
	got := harness.CLI{}.Run(t, "dockerfile", dir)
	m := regexp.MustCompile(`Pinion serves (3\.\d+ to 3\.\d+)`).FindStringSubmatch(got.Stdout + got.Stderr)
	assert.TrueNow(t, m != nil, "got %q, want the Pythons that are served", got.Stdout+got.Stderr)
	return m[1]
}

// TestPythons_OfDocuments holds that each document that says which Pythons are served names exactly those that the
// binary serves, and not all from the oldest on: a newer one is refused.
func TestPythons_OfDocuments(t *testing.T) {
	t.Parallel()
	served := servedPythons(t)
	oldest, _, _ := strings.Cut(served, " ")
	texts := contents(t, "../*.md", "../docs/*.md", "../docs/*/*.md", "../docs/*/*.svg", "../pyembed/doc.go",
		"../third_party/cpy3/doc.go", "../build.sh")
	ranges := regexp.MustCompile(`\b3\.\d+ to 3\.\d+\b`)
	open := regexp.MustCompile(`\b` + regexp.QuoteMeta(oldest) + `(?: or newer| or later| and up| and newer| on\b|\+)`)
	for path, text := range texts {
		for _, got := range ranges.FindAllString(text, -1) {
			assert.Equal(t, path, got, served)
		}
		got := open.FindString(text)
		assert.True(t, got == "", "%s: got %q, want %q", path, got, served)
	}
	for _, path := range []string{
		"../README.md", "../CONTRIBUTING.md", "../docs/how-to/install.md", "../docs/how-to/upgrade.md",
		"../docs/tutorial/quickstart.md", "../build.sh",
	} {
		assert.Contains(t, path+": no range of Pythons", texts[path], served)
	}
	locate := harness.ReadFile(t, "../pyembed/locate/version.go")
	assert.Contains(t, "pyembed/locate/version.go: another oldest version",
		locate, strings.Replace(oldest, "3.", "major: 3, minor: ", 1)+"}")
}

// TestPythons_OfBuild holds that what documents say a build needs is what build.sh asks for.
func TestPythons_OfBuild(t *testing.T) {
	t.Parallel()
	compiler := regexp.MustCompile(`need_cc\(\) {\n.*\n\s+install "(.*?)"`).FindStringSubmatch(
		harness.ReadFile(t, "../build.sh"))
	assert.TrueNow(t, compiler != nil, "got no compiler that build.sh installs, want one")
	found := 0
	for path, text := range allDocuments(t) {
		for line := range strings.Lines(text) {
			if regexp.MustCompile(`Linux\b.*\bGo\b.*\bCPython\b`).MatchString(line) {
				found++
				assert.Contains(t, path, line, compiler[1])
			}
		}
	}
	assert.True(t, found >= 3, "got %d lines of what a build needs, want at least 3", found)
}
