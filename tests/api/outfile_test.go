package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestOutfile_OutputsThatAreNoFiles: a path to what never ends or never begins fails its prediction at once, whichever
// way files go out.
func TestOutfile_OutputsThatAreNoFiles(t *testing.T) {
	t.Parallel()
	storage := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(storage.Close)
	for _, args := range [][]string{nil, {"--upload-url", storage.URL}} {
		dir := harness.NewFolder(t, "run.py", "from cog import Path\n\ndef run(path: str) -> Path:\n    return Path(path)\n")
		s := harness.Ready(t, harness.Options{Dir: dir, Model: "run.py:run", Args: args})
		harness.MakeFIFO(t, dir, "pipe")
		for path, kind := range map[string]string{
			"/dev/zero": "a device", "/dev/tty": "a device", "pipe": "a named pipe",
			".": "a folder",
		} {
			a := s.Do(http.MethodPost, "/predictions", map[string]any{"input": harness.Input{"path": path}})
			harness.WantFailed(t, fmt.Sprintf("%s with %q", path, args), a, "'"+path+"' is "+kind)
		}
		assert.Contains(t, "the file itself",
			string(s.Do(http.MethodPost, "/predictions", map[string]any{"input": harness.Input{"path": "/dev/zero"}}, "Accept",
				"application/octet-stream").Body), "is a device")
	}
}
