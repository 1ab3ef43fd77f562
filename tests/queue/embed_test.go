package queue

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// natsOf is the process of a server's embedded NATS; 0 means there is none.
func natsOf(s *harness.Server) int {
	processes := s.Processes()
	at := slices.IndexFunc(processes,
		func(pid int) bool { return strings.HasPrefix(harness.CommandLine(pid), "pinion-nats ") })
	if at < 0 {
		return 0
	}
	return processes[at]
}

// TestEmbeddedNATS_IsStartedAgain: its death takes no accepted job, and no prediction that runs.
func TestEmbeddedNATS_IsStartedAgain(t *testing.T) {
	t.Parallel()
	s := harness.StartMember(t, "embed:"+t.TempDir(), harness.Options{})
	open := harness.EnqueueAtGate(t, s, "runs")
	harness.Enqueue(t, s, "waits", harness.Input{"token": "waits"})
	before := natsOf(s)
	harness.SendSignal(t, before, syscall.SIGKILL)
	assert.Eventually(t, "another NATS runs", func() bool { after := natsOf(s); return after != 0 && after != before })
	s.WaitLog("the job queue's NATS server has ended: starting it again")
	open()
	harness.WaitStatus(t, s, "runs", "succeeded")
	harness.WaitStatus(t, s, "waits", "succeeded")
	for _, id := range []string{"runs", "waits"} {
		assert.Equal(t, "runs of "+id, harness.TimesRun(t, s, id), 1)
	}
}

// TestEmbeddedNATS_DiesWithItsServer, which leaves it no time to say so.
func TestEmbeddedNATS_DiesWithItsServer(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	s := harness.StartMember(t, "embed:"+store, harness.Options{})
	got := natsOf(s)
	assert.TrueNow(t, got != 0, "got no process of NATS: got %d, want anything but 0", got)
	harness.Enqueue(t, s, "p1", harness.Input{})
	harness.WaitStatus(t, s, "p1", "succeeded")
	s.Kill() // and no process is left
	next := harness.StartMember(t, "embed:"+store, harness.Options{Dir: s.Dir})
	assert.Equal(t, "what the next server knows", harness.StateOf(next, "p1").Status, "succeeded")
}

// TestEmbeddedNATS_NotInstalled: only --nats embed needs the second program, and names it.
func TestEmbeddedNATS_NotInstalled(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "pinion")
	harness.CopyFile(t, harness.Binary(t), binary)
	o := harness.Options{
		Binary: binary, Model: "fleet.py", Args: []string{"--model", "m", "--nats", "embed:" + t.TempDir()},
	}
	harness.WantRefused(t, o, 2, "the program pinion-nats is neither in "+filepath.Dir(binary)+
		" nor in the PATH: install it from the release of this binary")
	o.Args = nil
	harness.WantCode(t, "a synchronous request", harness.Ready(t, o).Input(harness.Input{}), http.StatusOK)
}

// TestEmbeddedNATS_IsProgramOfItsOwn: every front and every worker would pay for what is linked into the command.
func TestEmbeddedNATS_IsProgramOfItsOwn(t *testing.T) {
	t.Parallel()
	out := assert.Must(exec.Command("go", "list", "-deps", "../cmd/pinion").Output())(t)
	for pkg := range strings.Lines(string(out)) {
		if strings.HasPrefix(pkg, "github.com/nats-io/nats-server/") || strings.HasPrefix(pkg, "pinion/runtime/natsserver") {
			t.Errorf("cmd/pinion links %s: want it in cmd/pinion-nats alone", strings.TrimSpace(pkg))
		}
	}
}
