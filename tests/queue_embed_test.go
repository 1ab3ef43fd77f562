package tests

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/harness"
)

// natsOf is the process of a server's embedded NATS; 0: there is none.
func natsOf(s *harness.Server) int {
	all := s.Processes()
	at := slices.IndexFunc(all, func(pid int) bool { return strings.HasPrefix(harness.CommandLine(pid), "pinion-nats ") })
	if at < 0 {
		return 0
	}
	return all[at]
}

// TestEmbeddedNATS_IsStartedAgain: its death takes no accepted job, and no prediction that runs.
func TestEmbeddedNATS_IsStartedAgain(t *testing.T) {
	t.Parallel()
	s := member(t, "embed:"+t.TempDir(), harness.Options{})
	open := makeFIFO(t, s.Dir, "gate")
	enqueue(t, s, "runs", input{"gate": "gate", "token": "runs"})
	becomes(t, s, "runs", "processing")
	enqueue(t, s, "waits", input{"token": "waits"})
	before := natsOf(s)
	kill(t, before, syscall.SIGKILL)
	harness.Eventually(t, "another NATS runs", func() bool { after := natsOf(s); return after != 0 && after != before })
	s.WaitLog("the job queue's NATS server has ended and is started again")
	open()
	becomes(t, s, "runs", "succeeded")
	becomes(t, s, "waits", "succeeded")
	for _, id := range []string{"runs", "waits"} {
		same(t, "runs of "+id, times(t, s, id), 1)
	}
}

// TestEmbeddedNATS_DiesWithItsServer, which leaves it no time to say so.
func TestEmbeddedNATS_DiesWithItsServer(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	s := member(t, "embed:"+store, harness.Options{})
	if natsOf(s) == 0 {
		t.Fatal("got no process of NATS")
	}
	enqueue(t, s, "p1", input{})
	becomes(t, s, "p1", "succeeded")
	s.Kill() // and no process is left
	next := member(t, "embed:"+store, harness.Options{Dir: s.Dir})
	same(t, "what the next server knows", stateOf(next, "p1").Status, "succeeded")
}

// TestEmbeddedNATS_NotInstalled: only --nats embed needs the second program, and names it.
func TestEmbeddedNATS_NotInstalled(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "pinion")
	copyFile(t, harness.Binary(t), binary)
	o := harness.Options{
		Binary: binary, Model: "fleet.py",
		Args: []string{"--model", "m", "--nats", "embed:" + t.TempDir()},
	}
	refused(t, o, 2, "the program pinion-nats is neither in "+filepath.Dir(binary)+
		" nor in the PATH: install it from the release of this binary")
	o.Args = nil
	wantCode(t, "a synchronous request", harness.Ready(t, o).Input(input{}), http.StatusOK)
}

// TestEmbeddedNATS_IsAProgramOfItsOwn: every front and every worker would pay for what is linked into the command.
func TestEmbeddedNATS_IsAProgramOfItsOwn(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "../cmd/pinion").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.Lines(string(out)) {
		if strings.HasPrefix(pkg, "github.com/nats-io/nats-server/") || strings.HasPrefix(pkg, "pinion/runtime/natsserver") {
			t.Errorf("cmd/pinion links %s: want it in cmd/pinion-nats alone", strings.TrimSpace(pkg))
		}
	}
}
