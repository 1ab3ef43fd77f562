package api

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/fakehub"
	"pinion/tests/harness"
)

// TestWeights_OfAHub: a server fetches a repository of a hub while Python imports. What the real huggingface_hub has
// fetched serves it without the hub, and files are those that it gets.
func TestWeights_OfAHub(t *testing.T) {
	t.Parallel()
	h := fakehub.New(t, map[string][]byte{
		"a.bin": bytes.Repeat([]byte("weights "), 1<<18), "config.json": []byte("{}"), "sub/b.bin": []byte("b"),
		"left.md": []byte("left"),
	})
	h.Token = "secret-token"
	home := t.TempDir()
	env := []string{"HF_ENDPOINT=" + h.URL, "HF_TOKEN=secret-token", "HF_HOME=" + home}
	model := func() string {
		return harness.NewFolder(t, "cog.yaml", `run: run.py:Runner
weights:
  - name: base
    target: /src/weights/base
    source: {uri: hf://org/repo, exclude: ["*.md"]}
`, "run.py", `import cog

class Runner:
    def setup(self):
        self.folder = cog.weights("base")

    def run(self) -> str:
        return " ".join(sorted(str(p.relative_to(self.folder)) for p in self.folder.rglob("*.*")))
`)
	}
	const want = ".cog a.bin config.json sub/b.bin"
	s := harness.Start(t, harness.Options{Dir: model(), Env: append(env, "PINION_CACHE_DIR="+t.TempDir())})
	s.WaitHealth("READY")
	harness.WantOutput(t, "the model", s.Input(map[string]any{}), want)
	got := harness.ReadFile(t, filepath.Join(s.Dir, "weights/base/a.bin"))
	assert.True(t, got == string(h.Files["a.bin"]), "got %d other bytes at the target", len(got))
	assert.False(t, strings.Contains(s.Log.String(), "secret-token"), "the log has the token:\n%s", s.Log)
	assert.False(t, h.Leaked.Load(), "the store has got the token")

	python := harness.Tool(t, "venvs/models/bin/python")
	harness.RunPython(t, python, t.TempDir(), append(os.Environ(), env...), "-c",
		`import huggingface_hub as h; h.snapshot_download("org/repo", ignore_patterns=["*.md"])`)
	asked := h.Asked.Load()
	offline := harness.Start(t, harness.Options{
		Dir: model(), Env: append(env, "PINION_CACHE_DIR="+t.TempDir(), "HF_HUB_OFFLINE=1"),
	})
	offline.WaitHealth("READY")
	harness.WantOutput(t, "the model without the hub", offline.Input(map[string]any{}), want)
	assert.Equal(t, "requests without the hub", h.Asked.Load(), asked)

	c := harness.CLI{Dir: model(), Env: append(env, "PINION_CACHE_DIR="+t.TempDir())}
	assert.Contains(t, "lock", c.Good(t, "weights", "lock"), "base: 3 files")
	assert.Contains(t, "lock", harness.ReadFile(t, filepath.Join(c.Dir, "weights.lock")),
		`"uri": "hf://org/repo"`, fmt.Sprintf(`"fingerprint": "commit:%s"`, fakehub.Commit), `"*.md"`)
	c.Good(t, "weights", "pull")
}
