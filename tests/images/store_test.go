package images

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// Names of the images that a test begins with.
const (
	baseImage = "localhost/pinion-test/base" // Debian without Python
	uvImage   = "localhost/pinion-test/uv"
)

// certificates are those of this machine; an index may be reached by a proxy that has its own.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// store holds images, apart from the machine's own.
type store struct {
	t   *testing.T
	dir string
	env []string
}

// newStore makes a store with the two images, or skips the test where a tool is missing.
func newStore(t *testing.T) *store {
	t.Helper()
	base := os.Getenv("PINION_TEST_IMAGE_BASE")
	if os.Getuid() != 0 || base == "" {
		t.Skip("./build.sh images makes what this needs, as root")
	}
	for _, tool := range []string{"buildah", "podman", "crun", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
	uv := harness.Tool(t, "../../.cache/images/bin/uv", "uv")
	s := &store{t: t, dir: harness.ShortTempDir(t)}
	config := filepath.Join(s.dir, "storage.conf")
	s.write(config, fmt.Sprintf("[storage]\ndriver = \"overlay\"\nrunroot = %q\ngraphroot = %q\n",
		filepath.Join(s.dir, "run"), filepath.Join(s.dir, "graph")))
	s.env = append(os.Environ(), "CONTAINERS_STORAGE_CONF="+config, "BUILDAH_ISOLATION=chroot", "TMPDIR="+s.dir)
	t.Cleanup(func() {
		_ = s.command("buildah", "rm", "--all").Run() // what a failed build left
		_ = s.command("buildah", "rmi", "--all", "--force").Run()
		_ = exec.Command("umount", "--lazy", filepath.Join(s.dir, "graph", "overlay")).Run()
	})
	s.image(baseImage, base, "FROM scratch\nADD file /\nCOPY ca-certificates.crt "+certificates+"\nENV SSL_CERT_FILE="+
		certificates+"\n")
	s.image(uvImage, uv, "FROM scratch\nCOPY file /uv\n")
	return s
}

// of is this store in another test.
func (s *store) of(t *testing.T) *store {
	other := *s
	other.t = t
	return &other
}

// image builds an image from one file.
func (s *store) image(name, file, instructions string) {
	s.t.Helper()
	dir := filepath.Join(s.dir, "context")
	defer os.RemoveAll(dir)
	s.write(filepath.Join(dir, "Containerfile"), instructions)
	assert.NoError(s.t, os.Symlink(file, filepath.Join(dir, "link")))
	s.good("cp", "--dereference", filepath.Join(dir, "link"), filepath.Join(dir, "file"))
	s.good("cp", certificates, filepath.Join(dir, "ca-certificates.crt"))
	s.good("buildah", "build", "--quiet", "--tag", name, dir)
}

func (s *store) write(file, text string) {
	s.t.Helper()
	assert.NoError(s.t, os.MkdirAll(filepath.Dir(file), 0o755))
	assert.NoError(s.t, os.WriteFile(file, []byte(text), 0o644))
}

func (s *store) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = s.env
	return cmd
}

// good runs a command that succeeds, and returns what it prints.
func (s *store) good(name string, args ...string) string {
	s.t.Helper()
	cmd := s.command(name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	assert.NoError(s.t, cmd.Run(), name, strings.Join(args, " "), stdout.String(), stderr.String())
	return stdout.String() + stderr.String()
}

// build runs pinion build, on Debian's base, and returns what it prints.
func (s *store) build(dir, tag string, args ...string) string {
	s.t.Helper()
	python := harness.AnyPython(s.t).Path
	return s.good(harness.Binary(s.t), append([]string{
		"build", dir, "--tag", tag, "--python", python, "--builder", "buildah",
		"--build-arg", "BASE=" + baseImage, "--build-arg", "UV=" + uvImage,
	}, args...)...)
}

// config is what an image says of itself.
type config struct {
	Labels                map[string]string
	User, WorkingDir      string
	Entrypoint, Cmd, Env  []string
	Healthcheck           struct{ Test []string }
	ExposedPorts, Volumes map[string]any
}

func (s *store) config(image string) (c config, layers []string) {
	s.t.Helper()
	var found []struct {
		Config      config
		HealthCheck struct{ Test []string } `json:"Healthcheck"`
		RootFS      struct{ Layers []string }
	}
	err := json.Unmarshal([]byte(s.good("podman", "image", "inspect", image)), &found)
	assert.TrueNow(s.t, err == nil && len(found) == 1, "inspect %s: %v: got %d, want 1", image, err, len(found))
	c = found[0].Config
	c.Healthcheck = found[0].HealthCheck
	return c, found[0].RootFS.Layers
}

// sizes are those of the layers of an image, the last one first.
func (s *store) sizes(image string) (sizes []int64) {
	s.t.Helper()
	var steps []struct{ Size int64 }
	assert.NoError(s.t, json.Unmarshal([]byte(s.good("podman", "history", "--format", "json", image)), &steps))
	for _, step := range steps {
		if step.Size > 0 {
			sizes = append(sizes, step.Size)
		}
	}
	return sizes
}
