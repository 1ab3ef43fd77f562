package queue

import (
	"context"
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

// olderCommit is the last whose messages do not carry the state of their job.
const olderCommit = "425b18b3cf70bfb6ca51982772c50fb1e6fbfe0b"

// olderBinary is Pinion as of that commit, built once.
func olderBinary(t *testing.T) string {
	t.Helper()
	file := harness.Absolute(t, filepath.Join("..", ".cache", "older", "pinion-"+olderCommit[:12]))
	if _, err := os.Stat(file); err == nil {
		return file
	}
	if out, err := exec.Command("git", "cat-file", "-e", olderCommit+"^{commit}").CombinedOutput(); err != nil {
		t.Skipf("this clone has no commit %s, as a shallow one: git fetch --unshallow gets it: %v %s", olderCommit[:12], err,
			out)
	}
	source := t.TempDir()
	build := exec.Command("sh", "-c",
		`git -C "$0" archive "$1" | tar -x -C "$2" && cd "$2" && go build -tags grpcnotrace -buildvcs=false -o "$3.new" ./cmd/pinion && mv "$3.new" "$3"`,
		filepath.Dir(filepath.Dir(filepath.Dir(file))), olderCommit, source, file)
	assert.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	out, err := build.CombinedOutput()
	assert.NoError(t, err, "build", olderCommit[:12], out)
	return file
}

// mixedModel yields tokens, and writes each of its runs down.
const mixedModel = `import time
from collections.abc import Iterator

import cog
from cog import BaseRunner


class Runner(BaseRunner):
    @cog.streaming
    def run(self, token: str = "", gate: str = "", n: int = 3, sleep: bool = False) -> Iterator[str]:
        with open("ran.txt", "a") as file:
            file.write(token + "\n")
        if gate:
            with open(gate) as file:  # a named pipe: opens when the test does
                file.read()
        while sleep:
            time.sleep(1)
        for i in range(n):
            yield f"token {i}"
`

// version is a server of one version in a fleet of two.
type version struct {
	*harness.Server

	name, binary string
}

// mixed is a fleet of an older and the present version. One of them accepts and the other runs.
type mixed struct {
	*testing.T

	nats         *harness.NATS
	hooks        *harness.HookReceiver
	dir          string
	accepts, run *version
	ids          int
}

// TestServers_OldAndNewSideBySide have one queue: in both directions, what one accepted the other runs, and both answer
// for it.
func TestServers_OldAndNewSideBySide(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	older := olderBinary(t)
	for _, direction := range []string{"the older one accepts", "the older one runs"} {
		t.Run(direction, func(t *testing.T) {
			t.Parallel()
			m := &mixed{
				T: t, nats: harness.StartNATS(t), hooks: harness.NewHookReceiver(t),
				dir: harness.NewFolder(t, "mixed.py", mixedModel),
			}
			m.accepts, m.run = &version{name: "older", binary: older}, &version{name: "present", binary: harness.Binary(t)}
			if direction == "the older one runs" {
				m.accepts, m.run = m.run, m.accepts
			}
			// An upgrade begins with a queue that the older one made.
			first, second := m.accepts, m.run
			if first.name == "present" {
				first, second = second, first
			}
			m.start(first)
			m.start(second)
			for _, scene := range []func(){
				m.succeeds, m.isCanceled, m.isCanceledWhileItWaits, m.direct, m.throughAGateway,
				m.drains, m.isLost,
			} {
				scene()
				if t.Failed() {
					return
				}
			}
		})
	}
}

func (m *mixed) start(v *version) {
	m.Helper()
	v.Server = harness.StartMember(m.T, m.nats.URL,
		harness.Options{
			Model: "mixed.py:Runner", Dir: m.dir, Binary: v.binary, Args: []string{"--attempts", "2", "--grace", "1s"},
		})
}

// id is a new id, with a gate of the same name.
func (m *mixed) id(what string) (id string, open func()) {
	m.Helper()
	m.ids++
	id = fmt.Sprint(what, m.ids)
	return id, harness.MakeFIFO(m.T, m.dir, id)
}

// occupy takes the only slot of a server, until free is called.
func (m *mixed) occupy(v *version) (free func()) {
	m.Helper()
	id, open := m.id("busy")
	answer := v.Begin(id, harness.Input{"gate": id})
	harness.WaitStatus(m.T, v.Server, id, "processing")
	return func() {
		m.Helper()
		open()
		if got := harness.Receive(m.T, answer); got.Status != "succeeded" {
			m.Errorf("%s is %s", id, got)
		}
	}
}

// begin has a job accepted by one server and waits until the other runs it.
func (m *mixed) begin(id string, in harness.Input) {
	m.Helper()
	free := m.occupy(m.accepts)
	m.enqueue(id, in)
	for _, v := range m.both() {
		harness.WaitStatus(m.T, v.Server, id, "processing")
	}
	free()
}

func (m *mixed) enqueue(id string, in harness.Input) {
	m.Helper()
	in["token"] = id
	body := map[string]any{"id": id, "input": in, "webhook": m.hooks.URL, "webhook_events_filter": []string{"completed"}}
	got := m.accepts.Create(body, "Prefer", "respond-async")
	if got.Code != http.StatusAccepted {
		m.Fatalf("accept %s: %s", id, got)
	}
}

func (m *mixed) both() []*version { return []*version{m.accepts, m.run} }

// ends waits until both tell the same end, its webhook came, and it ran that often.
func (m *mixed) ends(id, status string, runs int) harness.Answer {
	m.Helper()
	accepted, other := harness.WaitStatus(m.T, m.accepts.Server, id, status),
		harness.WaitStatus(m.T, m.run.Server, id, status)
	if string(accepted.Body) != string(other.Body) {
		m.Errorf("the %s one says %s, and the other %s", m.accepts.name, accepted.Body, other.Body)
	}
	assert.Eventually(m.T, "the webhook of "+id+" came", func() bool {
		posted := m.hooks.Of(id)
		return len(posted) > 0 && posted[len(posted)-1].Status == status &&
			posted[len(posted)-1].Header.Get("Webhook-Id") == id
	})
	if n := harness.TimesRun(m.T, m.accepts.Server, id); n != runs {
		m.Errorf("%s ran %d times, want %d", id, n, runs)
	}
	return accepted
}

func (m *mixed) succeeds() {
	id, open := m.id("runs")
	m.begin(id, harness.Input{"gate": id})
	stream := followStream(m.T, m.accepts.Server, id)
	open()
	if text := harness.Receive(m.T, stream); strings.Count(text, "event: output") != 3 ||
		!strings.Contains(text, `"status":"succeeded"`) {
		m.Errorf("its stream is %s", text)
	}
	if got := m.ends(id, "succeeded",
		1); !strings.Contains(string(got.Body), `"output":["token 0","token 1","token 2"]`) || got.CreatedAt == "" {
		m.Errorf("it is %s", got)
	}
	for _, v := range m.both() { // the id is in use, ended or not
		if got := v.Create(map[string]any{"id": id, "input": harness.Input{}}, "Prefer",
			"respond-async"); got.Code != http.StatusConflict {
			m.Errorf("POST of a known id at the %s one: %s", v.name, got)
		}
		if got := v.Do(http.MethodPut, "/predictions/"+id, map[string]any{"input": harness.Input{}}, "Prefer",
			"respond-async"); got.Code != http.StatusAccepted || got.Status != "succeeded" {
			m.Errorf("PUT of a known id at the %s one: %s", v.name, got)
		}
	}
}

func (m *mixed) isCanceled() {
	for _, by := range m.both() {
		id, _ := m.id("canceled")
		m.begin(id, harness.Input{"sleep": true})
		if got := by.Cancel(id); got.Code != http.StatusOK {
			m.Errorf("cancel at the %s one: %s", by.name, got)
		}
		m.ends(id, "canceled", 1)
	}
}

func (m *mixed) isCanceledWhileItWaits() {
	for _, by := range m.both() {
		freeOne, freeOther := m.occupy(m.accepts), m.occupy(m.run)
		id, _ := m.id("waits")
		m.enqueue(id, harness.Input{})
		if got := m.run.Do(http.MethodPut, "/predictions/"+id, map[string]any{"input": harness.Input{"token": id}}, "Prefer",
			"respond-async"); got.Code != http.StatusAccepted {
			m.Errorf("PUT once more, at the %s one: %s", m.run.name, got)
		}
		if got := by.Cancel(id); got.Code != http.StatusOK {
			m.Errorf("cancel of a job that waits, at the %s one: %s", by.name, got)
		}
		freeOne()
		freeOther()
		m.ends(id, "canceled", 0)
	}
}

// direct: predictions without the queue are found and canceled by the other server.
func (m *mixed) direct() {
	for i, v := range m.both() {
		other := m.both()[1-i]
		id, _ := m.id("direct")
		answer := v.Begin(id, harness.Input{"sleep": true, "token": id})
		harness.WaitStatus(m.T, v.Server, id, "processing")
		if got := harness.StateOf(other.Server, id); got.Code != http.StatusOK || got.Status != "processing" {
			m.Errorf("GET at the %s one: %s", other.name, got)
		}
		if got := other.Cancel(id); got.Code != http.StatusOK {
			m.Errorf("cancel at the %s one: %s", other.name, got)
		}
		if got := harness.Receive(m.T, answer); got.Status != "canceled" {
			m.Errorf("it is %s", got)
		}
		if got := harness.StateOf(other.Server, "unknown"); got.Code != http.StatusNotFound {
			m.Errorf("GET of an unknown one: %s", got)
		}
	}
}

// throughAGateway: a client waits at a gateway of the version that accepts, for what the other one runs.
func (m *mixed) throughAGateway() {
	asAccepts := []string{"sh", "-c", `shift; exec "$0" "$@"`, m.accepts.binary}
	gateway := harness.StartGatewayIn(m.T, asAccepts, m.nats.URL).Server
	free := m.occupy(m.accepts)
	id, open := m.id("gateway")
	answer := gateway.Begin(id, harness.Input{"gate": id, "token": id})
	harness.WaitStatus(m.T, m.run.Server, id, "processing")
	stream := followStream(m.T, gateway, id)
	open()
	if got := harness.Receive(m.T, answer); got.Code != http.StatusOK || got.Status != "succeeded" ||
		!strings.Contains(string(got.Body), "token 2") {
		m.Errorf("through the gateway it is %s", got)
	}
	if text := harness.Receive(m.T, stream); strings.Count(text, "event: output") != 3 ||
		!strings.Contains(text, `"status":"succeeded"`) {
		m.Errorf("its stream is %s", text)
	}
	left, leave := context.WithCancel(m.Context())
	id, _ = m.id("left")
	gone := make(chan harness.Answer, 1)
	go func() {
		gone <- gateway.DoContext(left, http.MethodPut, "/predictions/"+id,
			map[string]any{"input": harness.Input{"sleep": true, "token": id}})
	}()
	harness.WaitStatus(m.T, m.run.Server, id, "processing")
	leave()
	harness.Receive(m.T, gone)
	harness.WaitStatus(m.T, m.run.Server, id, "canceled")
	free()
}

// drains: what a server gives back the other one runs.
func (m *mixed) drains() {
	id, open := m.id("drains")
	m.begin(id, harness.Input{"gate": id})
	m.run.Stop()
	assert.Eventually(m.T, "the other server runs it",
		func() bool { return harness.TimesRun(m.T, m.accepts.Server, id) == 2 })
	open()
	harness.WaitStatus(m.T, m.accepts.Server, id, "succeeded")
	m.start(m.run)
	m.ends(id, "succeeded", 2)
}

// isLost: both servers are killed while they run it. The one that runs first comes back, and makes the dead letter.
// Both versions of pinion jobs list it, and the other one retries it.
func (m *mixed) isLost() {
	id, open := m.id("lost")
	m.begin(id, harness.Input{"gate": id})
	kill := func(v *version) { v.Kill() }
	kill(m.run)
	assert.Eventually(m.T, "the other server runs it",
		func() bool { return harness.TimesRun(m.T, m.accepts.Server, id) == 2 })
	kill(m.accepts)
	m.start(m.run)
	harness.WaitStatus(m.T, m.run.Server, id, "failed")
	m.start(m.accepts)
	if got := m.ends(id, "failed", 2); !strings.Contains(string(got.Body), "gave up after 2 attempts") {
		m.Errorf("it is %s", got)
	}
	jobs := func(v *version, args ...string) string {
		out, err := exec.Command(v.binary,
			append([]string{"jobs"}, append(args, "--nats", m.nats.URL, "--model", "m")...)...).Output()
		if err != nil {
			m.Fatalf("pinion jobs %q of the %s one: got %v, want no error", args, v.name, err)
		}
		return string(out)
	}
	for _, v := range m.both() {
		if list, shown := jobs(v, "list", "--status", "dead"),
			jobs(v, "show", id); !strings.Contains(list, id) || !strings.Contains(shown, "gave up after 2 attempts") {
			m.Errorf("the %s one lists\n%sand shows\n%s", v.name, list, shown)
		}
	}
	again := strings.TrimSpace(jobs(m.accepts, "retry", id))
	open()
	for _, v := range m.both() {
		harness.WaitStatus(m.T, v.Server, again, "succeeded")
		if list := jobs(v, "list"); strings.Contains(list, id) {
			m.Errorf("after the retry the %s one lists\n%s", v.name, list)
		}
	}
}
