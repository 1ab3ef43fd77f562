package queue

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// cable joins a network of its own to this host.
type cable struct {
	t    *testing.T
	name string
	here string // this host's address on it
}

// newCable lays one, or skips the test.
func newCable(t *testing.T) *cable {
	t.Helper()
	n := os.Getpid() % 250
	c := &cable{t: t, name: fmt.Sprint("pinion", os.Getpid()), here: fmt.Sprintf("10.213.%d.1", n)}
	if out, err := exec.Command("ip", "netns", "add", c.name).CombinedOutput(); err != nil {
		t.Skipf("a network namespace needs root and ip of iproute2: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", c.name).Run() })
	inside := []string{"netns", "exec", c.name, "ip"}
	for _, args := range [][]string{
		{"link", "add", c.name, "type", "veth", "peer", "name", "there", "netns", c.name},
		{"addr", "add", c.here + "/30", "dev", c.name},
		{"link", "set", c.name, "up"},
		append(inside, "addr", "add", fmt.Sprintf("10.213.%d.2/30", n), "dev", "there"),
		append(inside, "link", "set", "there", "up"),
		append(inside, "link", "set", "lo", "up"),
	} {
		c.ip(args...)
	}
	return c
}

func (c *cable) ip(args ...string) {
	c.t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	assert.NoError(c.t, err, "ip", args, out)
}

func (c *cable) cut()  { c.ip("link", "set", c.name, "down") }
func (c *cable) join() { c.ip("link", "set", c.name, "up") }

// TestNetwork_ServerIsCutOffAndComesBack: without the network it goes on with what its model runs. Another server runs
// its job meanwhile; its own result comes too late, and nothing changes.
func TestNetwork_ServerIsCutOffAndComesBack(t *testing.T) {
	t.Parallel()
	c := newCable(t)
	nats := harness.StartNATSAt(t, c.here)
	a := harness.StartMember(t, nats.URL, harness.Options{
		Wrap: []string{"ip", "netns", "exec", c.name}, Host: "unix:" + filepath.Join(harness.ShortTempDir(t), "socket"),
	})
	harness.EnqueueAtGate(t, a, "p1")
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	c.cut()
	assert.Eventually(t, "the other server runs it", func() bool { return harness.TimesRun(t, b, "p1") == 2 })
	want := succeedsAtGate(t, b, "p1")
	assert.Eventually(t, "the server knows that it is cut off", func() bool {
		return !strings.Contains(string(a.Do(http.MethodGet, "/health-check", nil).Body), `"connected":true`)
	})
	harness.WantCode(t, "an asynchronous request without the network",
		a.Create(map[string]any{"id": "p2", "input": harness.Input{}}, "Prefer", "respond-async"),
		http.StatusServiceUnavailable)
	assert.Eventually(t, "its model is free", func() bool { return a.Input(harness.Input{}).Code == http.StatusOK })
	c.join()
	a.WaitLog("another server took the job over while it ran: its result is dropped")
	for _, s := range []*harness.Server{a, b} {
		got := harness.WaitStatus(t, s, "p1", "succeeded")
		assert.Equal(t, "the state afterwards", string(got.Body), string(want.Body))
	}
	assert.Equal(t, "it ran", harness.TimesRun(t, a, "p1"), 2)
	harness.Enqueue(t, a, "p3", harness.Input{})
	harness.WaitStatus(t, b, "p3", "succeeded")
}
