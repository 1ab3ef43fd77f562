package queue

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// startHAProxy runs deploy/haproxy/haproxy.cfg in front of two servers, and returns what is in front. change may be
// nil.
func startHAProxy(t *testing.T, a, b *harness.Server, change func(string) string) *harness.Server {
	t.Helper()
	haproxy := harness.Tool(t, "haproxy/usr/sbin/haproxy", "haproxy", "/usr/sbin/haproxy")
	text := harness.ReadFile(t, "../deploy/haproxy/haproxy.cfg")
	address := harness.FreeAddress(t)
	config := text
	for from, to := range map[string]string{
		"bind :8080": "bind " + address, "127.0.0.1:5001": harness.Host(a), "127.0.0.1:5002": harness.Host(b),
		"abns@pinion-": "abns@pinion-" + address + "-",
	} {
		assert.TrueNow(t, strings.Contains(config, from), "the configuration has no %q, want it there", from)
		config = strings.ReplaceAll(config, from, to)
	}
	if change != nil {
		config = change(config)
		assert.TrueNow(t, config != text, "nothing was changed: got %.300q, want anything but %q", config, text)
	}
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	harness.WriteFile(t, file, config)
	harness.RunBeside(t, "HAProxy", exec.Command(haproxy, "-db", "-f", file))
	server := harness.At("http://" + address)
	harness.WaitModels(t, server) // HAProxy has both
	return server
}

// TestHAProxy_AsksAnotherServer: a refusal that the model never saw is repeated on another server, another refusal is
// not.
func TestHAProxy_AsksAnotherServer(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	balancer := startHAProxy(t, a, b, nil)
	without := startHAProxy(t, a, b, func(text string) string {
		return strings.Replace(text, "retry-on conn-failure 425", "retry-on conn-failure", 1)
	})

	const requests = 10
	open := harness.MakeFIFO(t, a.Dir, "gate")
	busy := make(chan harness.Answer, 1)
	go func() {
		busy <- a.Create(map[string]any{"id": "busy", "input": harness.Input{"gate": "gate", "token": "busy"}})
	}() // HAProxy does not know
	assert.Eventually(t, "a server is busy", func() bool { return harness.TimesRun(t, a, "busy") == 1 })
	refused := 0
	for i := range requests {
		got := balancer.Input(harness.Input{"token": fmt.Sprint("t", i)})
		assert.True(t, got.Code == http.StatusOK && got.Header.Get("Pinion-Refused") == "",
			"request %d: %s, want Code 200 and Pinion-Refused empty", i, got)
		if without.Input(harness.Input{}).Code != http.StatusOK {
			refused++
		}
	}
	assert.True(t, refused != 0,
		"without its retry HAProxy never met the busy server: this test shows nothing: got %d, want anything but 0", refused)
	for i := range requests {
		assert.Equal(t, fmt.Sprintf("request %d ran", i), harness.TimesRun(t, a, fmt.Sprint("t", i)), 1)
	}

	both := harness.MakeFIFO(t, a.Dir, "gate2")
	harness.Enqueue(t, b, "known", harness.Input{"gate": "gate2", "token": "known"})
	harness.WaitStatus(t, a, "known", "processing")
	got := balancer.Input(harness.Input{})
	assert.True(t, got.Code == http.StatusConflict && got.Header.Get("Pinion-Retry") == "elsewhere" &&
		got.Header.Get("Pinion-Refused") == "",
		"with both servers busy: %s %v, want Code 409, Pinion-Retry elsewhere and Pinion-Refused empty", got, got.Header)
	got = balancer.Create(`{"id":"known","input":{}}`, "Prefer", "respond-async")
	assert.Equal(t, "an id that is known: code", got.Code, http.StatusConflict)
	assert.Equal(t, "Pinion-Retry of an id that is known", got.Header.Get("Pinion-Retry"), "")
	open()
	both()
	harness.WantCode(t, "the first request", <-busy, http.StatusOK)
	harness.WaitStatus(t, b, "known", "succeeded")
	assert.Equal(t, "the known id ran", harness.TimesRun(t, a, "known"), 1)

	a.Stop() // the balancer notices, or connects elsewhere
	for i := range requests {
		harness.WantCode(t, fmt.Sprintf("request %d after a server has stopped", i), balancer.Input(harness.Input{}),
			http.StatusOK)
	}
}

// TestHAProxy_TellsOfLostServer: a request that a model had seen when its server died is answered 502, and does not run
// again.
func TestHAProxy_TellsOfLostServer(t *testing.T) {
	t.Parallel()
	nats, a := startMember(t)
	b := harness.StartMember(t, nats.URL, harness.Options{Dir: a.Dir})
	balancer := startHAProxy(t, a, b, nil)
	harness.MakeFIFO(t, a.Dir, "gate")
	answer := balancer.Begin("p1", harness.Input{"gate": "gate", "token": "p1"})
	assert.Eventually(t, "it runs", func() bool { return harness.TimesRun(t, a, "p1") == 1 })
	lost, left := a, b
	if b.Health().Workers[0].Busy == 1 {
		lost, left = b, a
	}
	lost.Kill()
	harness.WantCode(t, "the answer", harness.Receive(t, answer), http.StatusBadGateway)
	if got := harness.StateOf(left, "p1"); got.Code != http.StatusNotFound || harness.TimesRun(t, a, "p1") != 1 {
		t.Errorf("the other server knows it, or it ran again: %s, %d times, want Code 404 and TimesRun 1", got,
			harness.TimesRun(t, a, "p1"))
	}
	got := balancer.Create(map[string]any{"id": "p1", "input": harness.Input{"token": "p1"}})
	assert.True(t, got.Code == http.StatusOK && harness.TimesRun(t, a, "p1") == 2,
		"the client repeats it: %s, want Code 200 and TimesRun 2", got)
}
