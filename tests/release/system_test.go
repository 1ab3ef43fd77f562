package release

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// system is a computer with nothing but its distribution, until a test installs something.
type system struct {
	t     *testing.T
	arch  string
	lower string // the root file systems below the writable one, as overlay has them
	layer string
}

// enter mounts a system, with what its commands need of this one, and runs a command there.
const enter = `set -e
lower=$1 layer=$2 dist=$3 emulate=$4
shift 4
root=$layer/root
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$layer/upper,workdir=$layer/work" "$root"
for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder"; done
mkdir -p "$root/release"
mount --bind -o ro "$dist" "$root/release"
for file in resolv.conf hosts pip.conf ssl/certs/ca-certificates.crt; do
	[ -e "/etc/$file" ] || continue
	mkdir -p "$(dirname "$root/etc/$file")"
	[ -e "$root/etc/$file" ] || touch "$root/etc/$file"
	mount --bind "/etc/$file" "$root/etc/$file"
done
exec $emulate chroot "$root" env -i -C /srv "$@"`

// settings are the variables of commands in a system.
var settings = []string{
	"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
	"LOG_FORMAT=json", "PORT=0", "PINION_HOST=127.0.0.1",
}

// setting is a variable of ./build.sh release-test. Without it the test is skipped.
func setting(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if os.Getuid() != 0 || value == "" {
		t.Skip("./build.sh release-test makes what this needs, as root")
	}
	return value
}

// newSystem is an empty system by the name of its root file system.
func newSystem(t *testing.T, name string) *system {
	t.Helper()
	root := filepath.Join(setting(t, "PINION_TEST_ROOTS"), name)
	if _, err := os.Stat(root); err != nil {
		t.Skipf("its root file system could not be made: %v", err)
	}
	return overlay(t, name, root)
}

// overlay is a system whose files are those of lower until it changes them.
func overlay(t *testing.T, arch, lower string) *system {
	t.Helper()
	s := &system{t: t, arch: arch, lower: lower, layer: harness.ShortTempDir(t)}
	for _, name := range []string{"root", "upper", "work"} {
		assert.NoError(t, os.Mkdir(filepath.Join(s.layer, name), 0o755))
	}
	return s
}

// copy is a system that begins as this one is. This one must not change any more.
func (s *system) copy(t *testing.T) *system {
	t.Helper()
	return overlay(t, s.arch, filepath.Join(s.layer, "upper")+":"+s.lower)
}

// of is this system in another test.
func (s *system) of(t *testing.T) *system {
	other := *s
	other.t = t
	return &other
}

// command is a command line in the system.
func (s *system) command(line string) *exec.Cmd {
	emulate := ""
	if s.arch == "arm64" {
		emulate = setting(s.t, "PINION_TEST_EMULATE")
	}
	words := []string{
		"--mount", "--propagation", "private", "sh", "-c", enter, "enter", s.lower, s.layer,
		setting(s.t, "PINION_TEST_DIST"), emulate,
	}
	return exec.Command("unshare", append(append(words, settings...), "sh", "-c", line)...)
}

// run runs a command line that is to succeed, and returns what it prints.
func (s *system) run(line string) string {
	s.t.Helper()
	began := time.Now()
	out, err := s.command(line).CombinedOutput()
	assert.NoError(s.t, err, line, out)
	s.t.Logf("%s: %s", time.Since(began).Round(time.Second), line)
	return strings.TrimSpace(string(out))
}

// write makes a file in a system that runs no command.
func (s *system) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.layer, "upper", name)
	assert.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NoError(s.t, os.WriteFile(path, []byte(text), 0o644))
}

// prepare reads the lists of packages, and has apt-get ask nothing.
func (s *system) prepare() {
	s.t.Helper()
	s.write("etc/apt/apt.conf.d/99-tests", `APT::Get::Assume-Yes "true";`+"\n")
	s.run("apt-get update && cp -r /release/. /srv")
	for _, name := range []string{"cog.yaml", "run.py"} {
		text := assert.Must(os.ReadFile(filepath.Join("../../examples/hello", name)))(s.t)
		s.write("srv/examples/hello/"+name, string(text))
	}
}

// name replaces VERSION, and the processor, in the name of a released file by what it really is.
func (s *system) name(line string) string {
	s.t.Helper()
	if s.arch == "arm64" {
		line = strings.NewReplacer("amd64", "arm64", "x86_64", "aarch64").Replace(line)
	}
	for _, word := range strings.Fields(line) {
		pattern, _, _ := strings.Cut(filepath.Clean(word), "/")
		if !strings.Contains(pattern, "VERSION") {
			continue
		}
		file := pattern
		if filepath.Ext(pattern) == "" || !strings.Contains(".gz.deb.whl", filepath.Ext(pattern)) {
			file += ".tar.gz" // its folder
		}
		found, err := filepath.Glob(filepath.Join(setting(s.t, "PINION_TEST_DIST"), strings.Replace(file, "VERSION", "*", 1)))
		assert.TrueNow(s.t, err == nil && len(found) == 1, "%s names %d released files: %v, want 1", word, len(found), err)
		before, after, _ := strings.Cut(file, "VERSION")
		base := filepath.Base(found[0])
		line = strings.ReplaceAll(line, "VERSION", base[len(before):len(base)-len(after)])
	}
	return line
}

// server is a server that runs in a system.
type server struct {
	s       *system
	cmd     *exec.Cmd
	log     *harness.Log
	address string
	done    chan struct{}
}

// serve starts a server by a command line, and waits until its model is ready.
func (s *system) serve(line string) *server {
	s.t.Helper()
	if s.arch == "arm64" && strings.HasPrefix(line, ".venv/") {
		line = "$PWD/" + line // QEMU 7 runs /proc/self/exe by the path of its start, which must not depend on the folder
	}
	v := &server{s: s, cmd: s.command("exec " + line), log: &harness.Log{}, done: make(chan struct{})}
	v.cmd.Stdout, v.cmd.Stderr = v.log, v.log
	assert.NoError(s.t, v.cmd.Start())
	go func() {
		_ = v.cmd.Wait() // ProcessState says how it ended
		close(v.done)
	}()
	s.t.Cleanup(func() {
		_ = v.cmd.Process.Kill() // it may have ended
		<-v.done
	})
	const limit = 15 * time.Minute // QEMU takes minutes on a busy machine
	if !assert.Within(limit, 50*time.Millisecond, func() bool {
		select {
		case <-v.done:
			s.t.Fatalf("%s ended, want it to run: %v\n%s", line, v.cmd.ProcessState, v.log)
		default:
		}
		assert.TrueNow(s.t, v.log.Count("no worker will be started in its place") <= 0,
			"%s has no worker, want Count at most 0:\n%s", line, v.log)
		listening, ok := v.log.Find("listening")
		v.address = listening.Address
		_, ready := v.log.Find("worker ready")
		return ok && ready
	}) {
		s.t.Fatalf("got %s not ready within %s, want it ready:\n%s", line, limit, v.log)
	}
	return v
}

// checkAndStop holds that the server of examples/hello answers a prediction, ends on SIGTERM and leaves with exit
// status 0.
func (v *server) checkAndStop() {
	v.s.t.Helper()
	answer := fmt.Sprint(ask(v.s.t, v.address, `{"input":{"name":"Bob"}}`))
	assert.True(v.s.t, answer == "hello Bob", "the prediction is %q, want \"hello Bob\"\n%s", answer, v.log)
	v.stop()
}

func (v *server) stop() {
	v.s.t.Helper()
	assert.NoError(v.s.t, v.cmd.Process.Signal(os.Interrupt))
	<-v.done
	code := v.cmd.ProcessState.ExitCode()
	assert.True(v.s.t, code == 0, "the server ended with %d, want 0\n%s", code, v.log)
}
