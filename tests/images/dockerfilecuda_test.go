package images

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
)

const goImage = "localhost/pinion-test/go"

// testDockerfileCUDA builds the image of Dockerfile.cuda, as deploy/compose.yaml does, on a small base, with this
// machine's Go. It serves a mounted folder: with podman, and with that file.
func testDockerfileCUDA(t *testing.T, s *store) {
	goEnv := func(name string) string {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Skipf("there is no Go: %v", err)
		}
		return strings.TrimSpace(string(out))
	}
	dir := t.TempDir()
	s.write(filepath.Join(dir, "Containerfile"), "FROM "+baseImage+`
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev git
COPY --from=go . /usr/local/go
ENV PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin GOFLAGS=-buildvcs=false GOTOOLCHAIN=local
`)
	s.good("buildah", "build", "--quiet", "--tag", goImage, "--build-context", "go="+goEnv("GOROOT"), dir)
	compose := newCompose(s)
	compose.good(t.TempDir(), []string{"PINION_BASE=" + baseImage}, "--podman-build-args", strings.Join([]string{
		"--isolation", "chroot", "--format", "docker", "--build-arg", "GO=" + goImage,
		"--volume", goEnv("GOCACHE") + ":/root/.cache/go-build", "--volume", goEnv("GOMODCACHE") + ":/root/go/pkg/mod",
	}, " "), "build")
	hello := assert.Must(filepath.Abs(filepath.Join(examples, "hello")))(t)
	c := s.start(composeImage, []string{"--volume", hello + ":/src:ro"})
	assert.Equal(t, "the output", c.predict(`{"name":"Ada"}`), `"hello Ada"`)
	user, err := c.exec("id", "-un")
	assert.True(t, user == "pinion", "the user is %q: %v, want pinion", user, err)
	config, _ := s.config(composeImage)
	out, err := c.exec(config.Healthcheck.Test[1:]...)
	assert.True(t, err == nil, "the health check fails: got %v, want no error\n%s", err, out)
	c.stop()
	testCompose(t, s, compose)
}
