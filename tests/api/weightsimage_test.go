package api

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestWeights_OfAContainer: with Cog's manifest in the image a server fetches nothing, and waits for what 'pinion weights
// pull --into' brings to its volume. So it does for a volume that it cannot write to, without a manifest.
func TestWeights_OfAContainer(t *testing.T) {
	t.Parallel()
	if err := os.Mkdir(imageFolder, 0o755); err == nil { // each server has another file system there
		t.Cleanup(func() { _ = os.Remove(imageFolder) })
	}
	for name, test := range map[string]struct{ manifest, mount string }{
		"manifest": {`{"weights": [{"name": "base", "target": "TARGET", "setDigest": ""}]}`, ""},
		"volume":   {"", "mount --bind DIR/base TARGET && mount -o remount,bind,ro TARGET && "},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFileServer(t, []byte("four"))
			dir := weightsFolder(t, f.URL+"/a.bin", "")
			volume := filepath.Join(dir, "weights")
			if test.mount != "" {
				volume = t.TempDir()
			}
			target := filepath.Join(dir, "weights/base")
			assert.NoError(t, os.MkdirAll(target, 0o755))
			assert.NoError(t, os.MkdirAll(filepath.Join(volume, "base"), 0o755))
			s := startInImage(t, dir, strings.NewReplacer("DIR", volume, "TARGET", target), test.manifest, test.mount)
			waitRecord(t, s, "weights are awaited")
			h := weightsOf(t, s)
			assert.True(t, h.Status == "STARTING" && h.Weights != nil && h.Weights.TotalFiles == 1, "got %+v", h)
			assert.Equal(t, "requests", f.asked.Load(), int64(0))
			close(f.opened)
			c := harness.CLI{Dir: dir}
			c.Good(t, "weights", "pull", "--into", volume)
			s.WaitHealth("READY")
			harness.WantOutput(t, "the model", s.Input(map[string]any{}), "4 there are no weights 'other': cog.yaml has base")
		})
	}
}

// imageFolder is where an image has its manifest.
const imageFolder = "/.cog"

// startInImage starts a server where /.cog is that of an image, and where its target is mounted.
func startInImage(t *testing.T, dir string, paths *strings.Replacer, manifest, mount string) *harness.Server {
	t.Helper()
	script := filepath.Join(t.TempDir(), "mount.sh")
	text := "mount -t tmpfs none " + imageFolder + " && " + paths.Replace(mount)
	if manifest != "" {
		text += "printf %s '" + paths.Replace(manifest) + "' > " + imageFolder + "/weights.json && "
	}
	harness.WriteFile(t, script, text+`exec "$@"`)
	wrap := []string{"unshare", "--mount", "--propagation", "private", "sh", script}
	if exec.Command(wrap[0], append(wrap[1:], "true")...).Run() != nil {
		t.Skip("no file system can be mounted here")
	}
	return harness.Start(t, harness.Options{Dir: dir, Wrap: wrap, Env: []string{"PINION_CACHE_DIR=" + t.TempDir()}})
}
