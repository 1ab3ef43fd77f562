package images

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// testDockerfileCUDA builds the image of Dockerfile.cuda on a small base, with this machine's Go, and serves a mounted folder.
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
	s.good("buildah", "build", "--quiet", "--tag", "localhost/pinion-test/go", "--build-context", "go="+goEnv("GOROOT"), dir)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	s.good("buildah", "build", "--quiet", "--format", "docker", "--file", filepath.Join(root, "Dockerfile.cuda"), "--tag", "cuda",
		"--build-arg", "GO=localhost/pinion-test/go", "--build-arg", "BASE="+baseImage,
		"--volume", goEnv("GOCACHE")+":/root/.cache/go-build", "--volume", goEnv("GOMODCACHE")+":/root/go/pkg/mod", root)
	hello, err := filepath.Abs(filepath.Join(examples, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	c := s.start("cuda", []string{"--volume", hello + ":/src:ro"})
	if got := c.predict(`{"name":"Ada"}`); got != `"hello Ada"` {
		t.Errorf("the output is %s", got)
	}
	if user, err := c.exec("id", "-un"); user != "pinion" {
		t.Errorf("the user is %q: %v", user, err)
	}
	config, _ := s.config("cuda")
	if out, err := c.exec(config.Healthcheck.Test[1:]...); err != nil {
		t.Errorf("the health check fails: %v\n%s", err, out)
	}
	c.stop()
}
