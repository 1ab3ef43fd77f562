package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
)

// timeout is when a state that does not come is given up: far beyond what a busy machine needs.
const timeout = 10 * time.Minute

// eventually waits until reached says "", and shows what it says instead where that does not come.
func eventually(t *testing.T, what string, reached func() (instead string)) {
	t.Helper()
	began := time.Now()
	instead := ""
	assert.Within(timeout, 200*time.Millisecond, func() bool {
		instead = reached()
		return instead == "" || t.Failed()
	})
	if instead != "" {
		t.Fatalf("not after %s: got %s, want %s", time.Since(began), instead, what)
	}
	t.Logf("%s (after %s)", what, time.Since(began).Round(100*time.Millisecond))
}

// A process is a part of the cluster, or a container.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed once it has ended
}

// start runs a program with its output in a file, whose end is shown where the test fails.
func start(t *testing.T, name string, env []string, argv ...string) (*process, error) {
	log, err := os.Create(filepath.Join(logs(t), name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), exited: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // how it ended stands in its log
	}()
	return p, nil
}

// kill ends it, with what it started.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
	<-p.exited
}

func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func logs(t *testing.T) string {
	return filepath.Join(os.Getenv("TMPDIR"), "logs-of-"+strings.ReplaceAll(t.Name(), "/", "-"))
}

// keepLogs makes the folder of the logs. Where the test fails it shows the end of each.
func keepLogs(t *testing.T) {
	t.Helper()
	assert.NoError(t, os.MkdirAll(logs(t), 0o755))
	t.Cleanup(func() {
		files, _ := filepath.Glob(filepath.Join(logs(t), "*")) // a fixed pattern
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil && t.Failed() {
				t.Logf("== %s\n%s", filepath.Base(file), text[max(0, len(text)-3000):])
			}
		}
	})
}

// command runs a program of the user's, in the root of this checkout.
func command(t *testing.T, env []string, line string) (string, error) {
	t.Helper()
	cmd := exec.Command("bash", "-c", line)
	cmd.Dir, cmd.Env = "../..", env
	out, err := cmd.CombinedOutput()
	return string(out), err
}
