package images

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"pinion/tests/assert"
)

// inNamespace runs podman's programs where the cgroup file system is the one that its runtime reads; some machines have
// two of them mounted.
var inNamespace = []string{
	"unshare", "--mount", "--propagation", "private", "sh", "-c",
	`umount -R /sys/fs/cgroup 2>/dev/null; mount -t cgroup2 none /sys/fs/cgroup && exec "$@"`, "sh",
}

const (
	cgroupManager = "--cgroup-manager=cgroupfs"
	noCgroups     = "--cgroups=disabled"
)

// container is an image that runs.
type container struct {
	t       *testing.T
	store   *store
	name    string
	address string
	cmd     *exec.Cmd
	log     *log
	done    chan struct{}
}

type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// isolated is a command in a namespace as podman needs it.
func (s *store) isolated(command ...string) *exec.Cmd {
	words := slices.Concat(inNamespace, command)
	return s.command(words[0], words[1:]...)
}

// podmanCommand is a podman command on the store's images and containers.
func (s *store) podmanCommand(args ...string) *exec.Cmd {
	return s.isolated(append([]string{"podman", cgroupManager}, args...)...)
}

// runOptions are the options that containers have here: read-only except for /tmp. The limits are such as every machine
// allows; cgroups and a separate network are not, everywhere.
func runOptions(name string, port int) []string {
	return []string{
		"run", "--rm", "--name", name, "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt",
		"no-new-privileges",
		"--network", "host", noCgroups, "--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096", "--no-healthcheck",
		"--env", fmt.Sprintf("PORT=%d", port), "--env", "PINION_HOST=127.0.0.1",
	}
}

// start runs an image and waits until it is ready; options are podman's, args the image's.
func (s *store) start(image string, options []string, args ...string) *container {
	s.t.Helper()
	port := s.freePort()
	name := fmt.Sprintf("%s-%d", image, port)
	cmd := s.podmanCommand(append(append(append(runOptions(name, port), options...), image), args...)...)
	return s.await(name, port, cmd, s.podmanCommand("rm", "--force", "--time", "0", name))
}

func (s *store) freePort() int {
	s.t.Helper()
	listener := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(s.t)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// await starts a command that runs a container, and waits until the server at the port is ready. remove ends the
// container after the test.
func (s *store) await(name string, port int, cmd, remove *exec.Cmd) *container {
	s.t.Helper()
	c := &container{
		t: s.t, store: s, name: name, address: fmt.Sprintf("http://127.0.0.1:%d", port), cmd: cmd, log: &log{},
		done: make(chan struct{}),
	}
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	assert.NoError(s.t, c.cmd.Start())
	go func() {
		_ = c.cmd.Wait() // ProcessState says how it ended
		close(c.done)
	}()
	s.t.Cleanup(func() {
		_ = remove.Run() // it may have ended
		<-c.done
		if s.t.Failed() {
			s.t.Logf("the log of %s:\n%.5000s", c.name, c.log)
		}
	})
	assert.Eventually(s.t, name+" is ready", func() bool {
		select {
		case <-c.done:
			s.t.Fatalf("%s ended, want it to run: %v\n%s", name, c.cmd.ProcessState, c.log)
		default:
		}
		response, err := http.Get(c.address + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	return c
}

// predict makes a prediction that succeeds, and returns its output.
func (c *container) predict(input string) string {
	c.t.Helper()
	return assert.Must(c.ask(input))(c.t)
}

func (c *container) ask(input string) (string, error) {
	response, err := http.Post(c.address+"/predictions", "application/json", strings.NewReader(`{"input":`+input+`}`))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	var answer struct {
		Status string
		Output json.RawMessage
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Status != "succeeded" {
		return "", fmt.Errorf("the answer is %.500s", text)
	}
	return string(answer.Output), nil
}

// exec runs a command in the container.
func (c *container) exec(args ...string) (string, error) {
	out, err := c.store.podmanCommand(append([]string{"exec", c.name}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// stop is what docker stop does, and holds that the container ends by itself, with exit status 0.
func (c *container) stop() {
	c.t.Helper()
	out, err := c.store.podmanCommand("stop", "--time", "45", c.name).CombinedOutput()
	assert.True(c.t, err == nil, "podman stop: got %v, want no error\n%s", err, out)
	<-c.done
	assert.Equal(c.t, "exit code", c.cmd.ProcessState.ExitCode(), 0)
}
