package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"pinion/tests/assert"
)

// ignored are rules of the linter for other cases: versions of Debian packages (DL3008, a base has one of each), a
// folder for one command (DL3003), a stage that is a context (DL3022), and users' own commands.
var ignored = []string{
	"--ignore", "DL3008", "--ignore", "DL3003", "--ignore", "DL3022", "--ignore", "DL4006", "--ignore", "DL3042",
	"--ignore", "DL3013",
}

// TestLint_DockerfilesAreLinted by hadolint, which ./build.sh test installs.
func TestLint_DockerfilesAreLinted(t *testing.T) {
	linter := assert.Must(filepath.Abs("../../../../.cache/images/bin/hadolint"))(t)
	if _, err := os.Stat(linter); err != nil {
		t.Skip("./build.sh test makes the linter where it can")
	}
	cases, err := filepath.Glob("testdata/*.txtar")
	assert.TrueNow(t, err == nil && len(cases) != 0, "got no cases: %v, want at least one", err)
	dir := t.TempDir()
	files := []string{"../../../../Dockerfile.cuda"}
	for _, file := range cases {
		archive := assert.Must(txtar.ParseFile(file))(t)
		for _, f := range archive.Files {
			if f.Name == wantedDockerfile {
				place := filepath.Join(dir, filepath.Base(file)+".Dockerfile")
				assert.NoError(t, os.WriteFile(place, f.Data, 0o600))
				files = append(files, place)
			}
		}
	}
	assert.TrueNow(t, len(files) >= 25, "only %d Dockerfiles, want at least 25", len(files))
	out, err := exec.Command(linter, append(append(ignored, "--no-color"), files...)...).CombinedOutput()
	assert.True(t, err == nil, "got %v, want no error\n%s", err, out)
}
