package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestDeploy_Weights runs what the init containers run, and compares it with what servers mount.
func TestDeploy_Weights(t *testing.T) {
	t.Parallel()
	const folder = "../deploy/kubernetes/weights/"
	read := func(name string) harness.Manifest { return harness.ReadManifests(t, folder+name)[0] }
	initial, cache, mount := read("init.yaml"), read("node-cache.yaml"), read("node-mount.yaml")
	pod := func(more ...any) []any { return append([]any{"spec", "template", "spec"}, more...) }
	served := pod("containers", 0, "volumeMounts", 0)
	model := harness.NewFolder(t, "files/a.bin", "aaaa", "cog.yaml", "weights:\n  - {name: "+
		initial.Text(t, append(served, "subPath")...)+", target: "+initial.Text(t, append(served, "mountPath")...)+", source: files}\n")
	for name, of := range map[string][2]harness.Manifest{"init": {initial, initial}, "node": {cache, mount}} {
		volume := t.TempDir()
		at := of[0].Text(t, pod("initContainers", 0, "volumeMounts", 0, "mountPath")...)
		var args []string
		for _, arg := range of[0].Texts(t, pod("initContainers", 0, "args")...) {
			args = append(args, strings.NewReplacer(at, volume, "/src", model).Replace(arg))
		}
		harness.CLI{}.Good(t, args...)
		placed := filepath.Join(volume, of[1].Text(t, append(served, "subPath")...))
		assert.Equal(t, name+": file", harness.ReadFile(t, filepath.Join(placed, "a.bin")), "aaaa")
		assert.Contains(t, name+": marker", harness.ReadFile(t, filepath.Join(placed, ".cog/ready")), "sha256:")
		_, err := os.Stat(filepath.Join(volume, ".cache/files"))
		assert.NoError(t, err, "the cache is in the volume")
		assert.Equal(t, name+": read only", of[1].Text(t, append(served, "readOnly")...), "true")
		assert.Equal(t, name+": volume", of[0].Text(t, pod("volumes", 0)...), of[1].Text(t, pod("volumes", 0)...))
	}
	assert.EqualSlices(t, "what is run", initial.Texts(t, pod("initContainers", 0, "args")...),
		cache.Texts(t, pod("initContainers", 0, "args")...))
}
