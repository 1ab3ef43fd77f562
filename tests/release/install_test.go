package release

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, ".")) }

// ask makes a prediction and returns its output.
func ask(t *testing.T, address, body string) any {
	t.Helper()
	response := assert.Must(http.Post(address+"/predictions", "application/json", strings.NewReader(body)))(t)
	defer response.Body.Close()
	var answer struct {
		Status string
		Output any
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Status != "succeeded" {
		t.Fatalf("the answer is %+v: %v, want Status succeeded", answer, err)
	}
	return answer.Output
}

// section is the commands of a section of docs/how-to/install.md.
func section(t *testing.T, title string) []string {
	t.Helper()
	page := assert.Must(os.ReadFile("../../docs/how-to/install.md"))(t)
	_, text, ok := strings.Cut(string(page), title+"\n")
	assert.TrueNow(t, ok, "the page has no section %q", title)
	text, _, _ = strings.Cut(text, "\n## ")
	var lines []string
	for _, found := range regexp.MustCompile(`(?m)^    (.*)$`).FindAllStringSubmatch(text, -1) {
		lines = append(lines, found[1])
	}
	assert.TrueNow(t, len(lines) != 0, "the section %q has no commands: got none, want at least one", title)
	return lines
}

// TestInstall_Sections runs the commands of each section in an empty system of each processor. The last one serves.
// QEMU takes minutes to install Python, so for arm64 the sections share a system, in an order in which each one's
// pinion is the first of the PATH.
func TestInstall_Sections(t *testing.T) {
	harness.Full(t)
	for _, c := range []struct {
		arch, machine string
		shared        bool
	}{
		{arch: "amd64", machine: "x86_64"},
		{arch: "arm64", machine: "aarch64", shared: true},
	} {
		t.Run(c.arch, func(t *testing.T) {
			prepared := newSystem(t, c.arch)
			prepared.prepare()
			assert.EqualNow(t, "the system's processor", prepared.run("uname -m"), c.machine)
			for _, line := range section(t, "# Install") {
				prepared.run(line)
			}
			for _, title := range []string{"## Debian package", "## Tarball", "## Wheel"} {
				t.Run(strings.TrimPrefix(title, "## "), func(t *testing.T) {
					s := prepared.of(t)
					if !c.shared {
						s = prepared.copy(t)
					}
					lines := section(t, title)
					for _, line := range lines[:len(lines)-1] {
						s.run(s.name(line))
					}
					// what --nats embed starts
					s.run(`test -x "$(dirname "$(command -v pinion || echo .venv/bin/pinion)")/pinion-nats"`)
					s.serve(s.name(lines[len(lines)-1])).checkAndStop()
				})
			}
		})
	}
}

// TestInstall_MissingPackages installs what the server's messages name, until it serves: on a system without Python,
// and on one whose Python lacks its library.
func TestInstall_MissingPackages(t *testing.T) {
	harness.Full(t)
	prepared := newSystem(t, "amd64")
	prepared.prepare()
	prepared.run(prepared.name("apt-get install --no-install-recommends ./pinion_VERSION_linux_amd64.deb"))
	for name, c := range map[string]struct{ install, message, advice string }{
		"no Python": {"true", "no python3 on the PATH", "apt-get install python3 libpython3."},
		"no library": {
			"apt-get install --no-install-recommends python3-minimal libpython3-stdlib",
			"has no shared library libpython3.", "apt-get install libpython3.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := prepared.copy(t)
			s.run(c.install)
			const serve = "pinion serve examples/hello"
			cmd := s.command("timeout 60 " + serve)
			out, err := cmd.CombinedOutput()
			assert.TrueNow(t, err != nil && cmd.ProcessState.ExitCode() == 2 && strings.Contains(string(out), c.message),
				"it ended with %v, want exit status 2 and %q:\n%s", err, c.message, out)
			advice := regexp.MustCompile(`apt-get install [a-z0-9. -]+`).FindString(string(out))
			assert.TrueNow(t, strings.HasPrefix(advice, c.advice), "the advice is %q, want %s:\n%s", advice, c.advice, out)
			s.run(advice)
			s.serve(serve).checkAndStop()
		})
	}
}

// TestInstall_WheelBesideCog: the wheel leaves the environment's own package cog as it was, and so does its removal. It
// brings types of the package, in a folder to themselves.
func TestInstall_WheelBesideCog(t *testing.T) {
	harness.Full(t)
	s := newSystem(t, "amd64")
	s.prepare()
	lines := section(t, "## Wheel")
	s.run(lines[0])
	s.run(lines[1])
	s.run(".venv/bin/pip install cog==0.23.1")
	facts := `.venv/bin/python -c "import cog; print(cog.__version__, cog.__file__, cog.BasePredictor.__module__)" &&
		find .venv/lib -path '*/cog*' -type f ! -path '*/cog-stubs/*' ! -name '*.pyc' | sort | xargs sha256sum`
	before := s.run(facts)
	assert.TrueNow(t, strings.HasPrefix(before, "0.23.1 /srv/.venv/lib/"),
		`the environment's cog is %.200s, want it to start with "0.23.1 /srv/.venv/lib/"`, before)
	s.run(s.name(lines[2]))
	assert.Equal(t, "what cog was, with the wheel", s.run(facts), before)

	s.write("srv/where/cog.yaml", "run: run.py:run\n")
	s.write("srv/where/run.py", "import sys\n\n\ndef run() -> str:\n    return sys.executable\n")
	v := s.serve(".venv/bin/pinion serve where") // the environment is not active
	assert.Equal(t, "the server's Python", fmt.Sprint(ask(t, v.address, `{"input":{}}`)), "/srv/.venv/bin/python3")
	v.stop()

	s.run(".venv/bin/pip uninstall --yes pinion-server && ! ls .venv/bin/pinion && ! ls -d .venv/lib/*/site-packages/cog-stubs")
	assert.Equal(t, "what cog was, without the wheel", s.run(facts), before)
}

// TestInstall_OldSystem runs the binary with the oldest C library that can be had, of a system whose Python is too old.
func TestInstall_OldSystem(t *testing.T) {
	harness.Full(t)
	s := newSystem(t, "old")
	s.arch = "amd64"
	s.run("cp -r /release/. /srv")
	s.run(s.name("tar -xzf pinion_VERSION_linux_amd64.tar.gz"))
	program := s.name("pinion_VERSION_linux_amd64/pinion")
	assert.Contains(t, "prints", s.run("./"+program+" version"), "pinion")
	cmd := s.command("timeout 60 ./" + program + " serve " + path.Dir(program) + "/examples/hello")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "has only Python 3.9: install a newer one with uv python install") {
		t.Errorf("it ended with %v, want an error that names the system's Python and the fix:\n%s", err, out)
	}
	t.Logf("it ran with %s", s.run("ldd --version | head -1"))
}
