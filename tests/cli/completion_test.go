package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// completed is what shells offer for the last word of a command line: what begins as it does.
func completed(t *testing.T, args ...string) []string {
	t.Helper()
	text := harness.CLI{}.Good(t, append([]string{"__complete"}, args...)...)
	words, _, _ := strings.Cut(text, ":")
	begun := args[len(args)-1]
	return slices.DeleteFunc(strings.Fields(words), func(w string) bool { return !strings.HasPrefix(w, begun) })
}

func TestCompletion_ValuesOfFlags(t *testing.T) {
	t.Parallel()
	for about, want := range map[string]string{
		"serve --log-format": "json console", "serve --load": "startup on-demand manual", "serve --log-level w": "warning",
		"jobs list --class": "hi std lo", "schema --of": "cog.yaml pinion.yaml", "gateway --log-format": "json console",
		"serve --protocols oip,openai,v": "oip,openai,vertex", "serve --auth-public docs,": "docs,openapi docs,metrics",
		"gateway --protocols oip,o": "oip,openai", "batching --protocol": "unix tcp", "batching --log-format": "json console",
		"build --builder": "docker podman buildah", "build --progress": "auto tty plain quiet",
	} {
		args := strings.Fields(about)
		if len(args) < 3 || strings.HasPrefix(args[len(args)-1], "--") {
			args = append(args, "")
		}
		assert.Equal(t, about, strings.Join(completed(t, args...), " "), want)
	}
}

// TestCompletion_Inputs: names and choices of the model's inputs, of the folder that the line names. A folder without a
// model offers none.
func TestCompletion_Inputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "run.py"), `from cog import Input

open("imported", "w")

def run(prompt: str, style: str = Input(default="oil", choices=["oil", "pencil"]), gray: bool = False) -> str:
    return prompt
`)
	for word, want := range map[string]string{
		"": "prompt= style= gray=", "st": "style=", "style=": "style=oil style=pencil", "gray=t": "gray=true",
		"prompt=": "", "none=": "",
	} {
		assert.Equal(t, "-i "+word, strings.Join(completed(t, "predict", dir, "-i", word), " "), want)
	}
	harness.WriteFile(t, filepath.Join(dir, "pictures", "a.png"), "")
	for word, want := range map[string]string{
		"prompt=@" + dir + "/r":         "prompt=@" + dir + "/run.py",
		"prompt=@" + dir + "/p":         "prompt=@" + dir + "/pictures/",
		"prompt=@" + dir + "/pictures/": "prompt=@" + dir + "/pictures/a.png",
		"prompt=@" + dir + "/none/":     "",
	} {
		assert.Equal(t, "-i "+word, strings.Join(completed(t, "predict", dir, "-i", word), " "), want)
	}
	assert.Equal(t, "without a model", strings.Join(completed(t, "predict", t.TempDir(), "-i", ""), " "), "")
	_, err := os.Stat(filepath.Join(dir, "imported"))
	assert.True(t, err != nil, "the model was imported")
}

// TestMan_FollowsNoLink out of its folder.
func TestMan_FollowsNoLink(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	harness.WriteFile(t, outside, "kept")
	assert.NoError(t, os.Symlink(outside, filepath.Join(dir, "pinion-serve.1")))
	assert.Contains(t, "it says", harness.CLI{}.Bad(t, 1, "man", dir), "pinion-serve.1")
	assert.Equal(t, "the file outside", harness.ReadFile(t, outside), "kept")
}

// TestMan_Pages: every command has a page, which man reads without a warning.
func TestMan_Pages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.CLI{}.Good(t, "man", dir)
	for name, want := range map[string][]string{
		"pinion.1":           {".SH NAME", ".SS Make and try a model", "pinion\\-serve(1)\nServe the model of a folder"},
		"pinion-serve.1":     {"\\-\\-busy\\-poll", "PINION_WORKERS", "pinion(1)"},
		"pinion-jobs-list.1": {"\\-\\-ended", "\\-\\-nats"}, "pinion-init.1": {"\\-\\-template"},
	} {
		text := harness.ReadFile(t, filepath.Join(dir, name))
		assert.Contains(t, name, text, want...)
	}
	if _, err := os.Stat(filepath.Join(dir, "pinion-man.1")); err == nil {
		t.Error("the command that writes the pages has a page")
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("there is no groff")
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	assert.TrueNow(t, err == nil && len(pages) >= 20, "got the pages %q, %v, want at least 20", pages, err)
	warnings, err := exec.Command(groff, append([]string{"-man", "-Tutf8", "-ww", "-z"}, pages...)...).CombinedOutput()
	assert.True(t, err == nil && len(warnings) == 0, "groff says %v: %s", err, warnings)
	assert.Contains(t, "without a folder", harness.CLI{}.Bad(t, 2, "man"), "takes the folder for the pages")
}
