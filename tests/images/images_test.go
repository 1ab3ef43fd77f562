package images

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestImages_Run builds images of examples, and of folders that use all of cog.yaml's build section, runs them and asks
// them.
func TestImages_Run(t *testing.T) {
	harness.Full(t)
	s := newStore(t)
	sub := func(name string, test func(t *testing.T, s *store)) {
		t.Run(name, func(t *testing.T) { test(t, s.of(t)) })
	}
	sub("hello", testHello)
	sub("embed", testEmbed)
	sub("ocr", testOCR)
	sub("drain", testDrain)
	sub("rebuild", testRebuild)
	sub("all of cog.yaml", testWhole)
	sub("base image", testBaseImage)
	sub("Dockerfile.cuda", testDockerfileCUDA)
}

const examples = "../../examples"

func testHello(t *testing.T, s *store) {
	said := s.build(filepath.Join(examples, "hello"), "hello")
	assert.Contains(t, "the text", said, "podman run -p 127.0.0.1:5000:5000 hello")
	c := s.start("hello", nil)
	assert.Equal(t, "the output", c.predict(`{"name":"Ada"}`), `"hello Ada"`)
	for command, want := range map[string]string{
		"id -u": "10001", "cat /proc/1/comm": "pinion", "pwd": "/src", "stat -c %U /src": "pinion",
		"command -v gcc cc make || echo none":          "none",
		"test -s .cog/openapi_schema.json && echo has": "has", "grep -c CapEff:.0000000000000000 /proc/1/status": "1",
		"touch /x 2>/dev/null || echo read-only": "read-only",
	} {
		got, err := c.exec("sh", "-c", command)
		assert.True(t, got == want, "%s prints %q, want %q: %v", command, got, want, err)
	}
	config, _ := s.config("hello")
	if out, err := c.exec(config.Healthcheck.Test[1:]...); err != nil {
		t.Errorf("the health check fails: got %v, want no error\n%s", err, out)
	}
	assert.False(t, strings.Contains(c.log.String(), "disagrees"),
		"the image's document differs from its source, want log without \"disagrees\":\n%s", c.log)
	c.stop()

	assert.True(t, config.User == "10001:10001" && config.WorkingDir == "/src" &&
		slices.Equal(config.Entrypoint, []string{"pinion"}) && slices.Equal(config.Cmd, []string{"serve"}),
		`the image is %+v, want User "10001:10001", WorkingDir "/src", Entrypoint [pinion] and Cmd [serve]`, config)
	var settings, schema map[string]any
	for label, to := range map[string]*map[string]any{"run.cog.config": &settings, "run.cog.openapi_schema": &schema} {
		err := json.Unmarshal([]byte(config.Labels[label]), to)
		assert.True(t, err == nil, "%s is %.200s: got %v, want no error", label, config.Labels[label], err)
	}
	assert.True(t, settings["run"] == "run.py:Runner" && schema["openapi"] == "3.0.2" &&
		strings.Contains(config.Labels["run.cog.openapi_schema"], `"$ref":"#/components/schemas/`),
		"the labels are %.1000q, want the settings and the OpenAPI document", config.Labels)
	for label, want := range map[string]string{
		"run.cog.version": "0.23.1", "run.cog.has_init": "true", "org.opencontainers.image.title": "hello",
		"org.opencontainers.image.base.name": baseImage,
	} {
		assert.Equal(t, "the label "+label, config.Labels[label], want)
	}

	// Other commands than the server's.
	out, err := s.podmanCommand(append(runOptions("hello-once", 0), "hello", "predict", "-i", "name=Bob")...).Output()
	assert.True(t, err == nil && strings.TrimSpace(string(out)) == "hello Bob",
		`pinion predict prints %q: %v, want "hello Bob"`, out, err)
}

// testBaseImage builds base images that a release publishes, of the Pythons that Debian has, and an image of a model
// on each. Other Pythons come from GitHub, by uv.
func testBaseImage(t *testing.T, s *store) {
	for _, c := range []struct{ python, suite string }{{"3.13", "trixie"}, {"3.14", "forky"}, {"3.15", "forky"}} {
		t.Run(c.python, func(t *testing.T) {
			s := s.of(t)
			distribution, image := baseImage+"-"+c.suite, "localhost/pinion-test/pinion-base:cpu-python"+c.python
			dir := t.TempDir()
			s.write(filepath.Join(dir, "Containerfile"), "FROM "+baseImage+"\n"+ // a mirror may be behind
				"RUN sed -i 's/^deb /&[check-valid-until=no] /; s/trixie/"+c.suite+"/' /etc/apt/sources.list\n")
			s.good("buildah", "build", "--quiet", "--isolation", "chroot", "--tag", distribution, dir)
			s.good("buildah", "build", "--quiet", "--isolation", "chroot", "--tag", image, "--build-arg", "BASE="+distribution,
				"--build-arg", "UV="+uvImage, "--build-arg", "PYTHON="+c.python, "-f", "../../deploy/images/Dockerfile.base",
				"../../deploy/images")
			model := filepath.Join(dir, "model")
			s.write(filepath.Join(model, "cog.yaml"), "run: run.py:run\nbuild: {python_version: \""+c.python+"\"}\n")
			s.write(filepath.Join(model, "run.py"),
				"import sys\n\n\ndef run() -> str:\n    return \"%d.%d\" % sys.version_info[:2]\n")
			s.build(model, "on-base", "--build-arg", "BASE="+image)
			server := s.start("on-base", nil)
			got := server.predict("{}")
			assert.True(t, got == strconv.Quote(c.python), "the model's Python: got %s, want %s", got, c.python)
			server.stop()
		})
	}
}

func testEmbed(t *testing.T, s *store) {
	s.build(filepath.Join(examples, "embed"), "embed")
	c := s.start("embed", nil)
	var vector []float64
	err := json.Unmarshal([]byte(c.predict(`{"text":"a cat"}`)), &vector)
	assert.True(t, err == nil && len(vector) == 256, "%d numbers: %v, want 256", len(vector), err)
	c.stop()
}

func testOCR(t *testing.T, s *store) {
	s.build(filepath.Join(examples, "ocr"), "ocr")
	c := s.start("ocr", nil)
	sample := assert.Must(os.ReadFile(filepath.Join(examples, "ocr", "sample.png")))(t)
	wanted := assert.Must(os.ReadFile(filepath.Join(examples, "ocr", "sample.txt")))(t)
	var lines []struct{ Text string }
	output := c.predict(`{"image":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(sample) + `"}`)
	harness.FromJSON(t, output, &lines)
	var text string
	for _, line := range lines {
		text += line.Text + "\n"
	}
	assert.True(t, text == string(wanted), "it reads %q, want %q", text, wanted)
	c.stop()
}

const gated = `
import os, time
from cog import BaseRunner

class Runner(BaseRunner):
    def run(self) -> str:
        print("begun")
        while not os.path.exists("/gate/open"):
            time.sleep(0.01)
        return "finished"
`

// testDrain: a stop lets a prediction finish.
func testDrain(t *testing.T, s *store) {
	dir, gate := t.TempDir(), t.TempDir()
	s.write(filepath.Join(dir, "cog.yaml"), "run: run.py:Runner\n")
	s.write(filepath.Join(dir, "run.py"), gated)
	s.build(dir, "gated")
	c := s.start("gated", []string{"--volume", gate + ":/gate:ro"})
	answer := make(chan error, 1)
	go func() {
		output, err := c.ask("{}")
		if err == nil && output != `"finished"` {
			err = fmt.Errorf("the output is %s", output)
		}
		answer <- err
	}()
	assert.Eventually(t, "the prediction runs", func() bool { return strings.Contains(c.log.String(), "begun") })
	stopped := make(chan struct{})
	go func() { c.stop(); close(stopped) }()
	assert.Eventually(t, "the server is draining",
		func() bool { return strings.Contains(c.log.String(), "shutting down") })
	s.write(filepath.Join(gate, "open"), "")
	if err := <-answer; err != nil {
		t.Error(err)
	}
	<-stopped
}

// testRebuild: a change of code makes one small layer anew, and a change of packages theirs and those after it.
func testRebuild(t *testing.T, s *store) {
	dir := filepath.Join(t.TempDir(), "model")
	assert.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(examples, "hello"))))
	s.write(filepath.Join(dir, "cog.yaml"),
		"run: run.py:Runner\nbuild:\n  python_requirements: requirements.txt\nweights:\n  - {name: w, target: w.bin}\n")
	s.write(filepath.Join(dir, "requirements.txt"), "six==1.17.0\n")
	s.write(filepath.Join(dir, "w.bin"), strings.Repeat("w", 1<<20))
	layers := func() []string {
		t.Helper()
		s.build(dir, "rebuilt")
		_, layers := s.config("rebuilt")
		return layers
	}
	first := layers()
	assert.EqualSlices(t, "layers though nothing has changed", first, layers())
	source := harness.ReadFile(t, filepath.Join(dir, "run.py"))
	s.write(filepath.Join(dir, "run.py"), source+"\n# changed\n")
	code := layers()
	last := len(first) - 1
	assert.True(t, len(code) == len(first) && slices.Equal(code[:last], first[:last]) && code[last] != first[last],
		"the code has changed: the layers were %q and are %q, want another last one alone", first, code)
	size := s.sizes("rebuilt")[0]
	assert.True(t, size <= 200_000, "the layer of the code has %d bytes, want at most 200_000", size)
	t.Logf("a change of code: 1 of %d layers, %d bytes", len(code), s.sizes("rebuilt")[0])
	s.write(filepath.Join(dir, "requirements.txt"), "six==1.16.0\n")
	packages := layers()
	changed := differing(code, packages)
	assert.True(t, changed != 0 && changed != len(packages) && packages[1] == code[1],
		"the packages have changed: the layers were %q and are %q, want other ones from the packages' on", code, packages)
}

// differing counts the layers that are not the same.
func differing(a, b []string) (n int) {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			n++
		}
	}
	return n
}

const wholeModel = `
import json, os, shutil
from pathlib import Path
import shared, six
from cog import BaseRunner

class Runner(BaseRunner):
    def run(self) -> dict[str, str]:
        return {
            "packages": six.__version__, "tree": str(shutil.which("tree")), "before": str(os.path.exists("/opt/before")),
            "size": Path("/opt/size").read_text().strip(), "lines": Path("/opt/lines").read_text(), "token": str(os.path.exists("/run/secrets/token")),
            "greeting": os.environ["GREETING"], "shared": shared.NAME, "local": Path("weights/local.txt").read_text(),
            "fetched": str(os.path.exists("weights/fetched.txt")), "ignored": str(os.path.exists("notes.txt")), "pip": Path("/opt/pip").read_text().strip(),
        }

def train(n: int = 1) -> int:
    return n
`

// testWhole builds a folder below another one with all keys of the build section that need no GPU.
func testWhole(t *testing.T, s *store) {
	root := t.TempDir()
	dir := filepath.Join(root, "models", "whole")
	for name, text := range map[string]string{
		"cog.yaml": `
image: whole
description: It's "all" for $5
run: run.py:Runner
train: run.py:train
environment:
  - GREETING=it's "me"
  - PYTHONPATH=/src
weights:
  - {name: local, target: weights/local.txt}
  - {name: fetched, target: /src/models/whole/weights/fetched.txt, source: https://example.com/fetched.txt}
build:
  python_requirements: ../../requirements.txt
  python_packages: ["six==1.17.0 ; python_version >= '3.10'"]
  system_packages: [tree]
  pre_install: [touch /opt/before]
  run:
    - command: wc -c </run/secrets/token >/opt/size
      mounts:
        - {type: secret, id: token, target: /run/secrets/token}
    - command: date >/var/cache/own/date
      mounts:
        - {type: cache, target: /var/cache/own}
    - |
      cat >/opt/lines <<END
      it's
      END
    - python -m pip --version | cut -d ' ' -f 1 >/opt/pip
`,
		"run.py": wholeModel, "weights/local.txt": "weights", "weights/fetched.txt": "not in the image", "notes.txt": "x",
	} {
		s.write(filepath.Join(dir, name), text)
	}
	s.write(filepath.Join(root, "shared.py"), "NAME = 'shared'\n")
	s.write(filepath.Join(root, "requirements.txt"), "# none\n")
	s.write(filepath.Join(root, ".dockerignore"), "**/notes.txt\n")
	token := filepath.Join(t.TempDir(), "token")
	s.write(token, "0123456789")
	said := s.build(dir, "whole", "--context", root, "--secret", "id=token,src="+token)
	assert.Contains(t, "the text", said, "weights: fetched is not part of the image")
	c := s.start("whole", nil)
	got := map[string]string{}
	harness.FromJSON(t, c.predict("{}"), &got)
	for name, want := range map[string]string{
		"packages": "1.17.0", "tree": "/usr/bin/tree", "before": "True", "size": "10", "lines": "it's\n", "token": "False",
		"greeting": `it's "me"`, "shared": "shared",
		"local": "weights", "fetched": "False", "ignored": "False", "pip": "pip",
	} {
		assert.Equal(t, name, got[name], want)
	}
	c.stop()
	config, _ := s.config("whole")
	assert.Equal(t, "the description", config.Labels["org.opencontainers.image.description"], `It's "all" for $5`)
	assert.Contains(t, "the configuration", config.Labels["run.cog.config"], `"pre_install":["touch /opt/before"]`)
}
