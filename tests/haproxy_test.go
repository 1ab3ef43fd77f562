package tests

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/harness"
)

// startHAProxy runs deploy/haproxy/haproxy.cfg in front of two servers, and returns its address. change may be nil.
func startHAProxy(t *testing.T, a, b *harness.Server, change func(string) string) string {
	t.Helper()
	haproxy := harness.Tool(t, "haproxy/usr/sbin/haproxy", "haproxy", "/usr/sbin/haproxy")
	text := readFile(t, "../deploy/haproxy/haproxy.cfg")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	config := text
	for from, to := range map[string]string{
		"bind :8080": "bind " + address, "127.0.0.1:5001": host(a), "127.0.0.1:5002": host(b), "abns@pinion-": "abns@pinion-" + address + "-",
	} {
		if !strings.Contains(config, from) {
			t.Fatalf("the configuration has no %q", from)
		}
		config = strings.ReplaceAll(config, from, to)
	}
	if change != nil {
		if config = change(config); config == text {
			t.Fatal("nothing was changed")
		}
	}
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	writeFile(t, file, config)
	cmd := exec.Command(haproxy, "-db", "-f", file)
	var says bytes.Buffer
	cmd.Stdout, cmd.Stderr = &says, &says
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	launch(t, cmd)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("HAProxy says: %s", &says)
		}
	})
	harness.Eventually(t, "HAProxy has both servers", func() bool {
		answer, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil && answer.StatusCode == http.StatusOK
	})
	return "http://" + address
}

// host is a server's address without a scheme.
func host(s *harness.Server) string { return strings.TrimPrefix(s.Address, "http://") }

// through posts a prediction through a balancer.
func through(t *testing.T, address, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/predictions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

// TestHAProxyAsksAnotherServer: a refusal that the model never saw is repeated on another server, another refusal is not.
func TestHAProxyAsksAnotherServer(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{})
	b := member(t, nats.URL, harness.Options{Dir: a.Dir})
	address := startHAProxy(t, a, b, nil)
	without := startHAProxy(t, a, b, func(text string) string {
		return strings.Replace(text, "retry-on conn-failure 425", "retry-on conn-failure", 1)
	})

	const requests = 10
	open := makeFIFO(t, a.Dir, "gate")
	busy := make(chan harness.Answer, 1)
	go func() {
		busy <- a.Create(map[string]any{"id": "busy", "input": input{"gate": "gate", "token": "busy"}})
	}() // HAProxy does not know
	harness.Eventually(t, "a server is busy", func() bool { return times(t, a, "busy") == 1 })
	refused := 0
	for i := range requests {
		if code, header, text := through(t, address, fmt.Sprintf(`{"input":{"token":"t%d"}}`, i)); code != http.StatusOK || header.Get("Pinion-Refused") != "" {
			t.Errorf("request %d: %d %s", i, code, text)
		}
		if code, _, _ := through(t, without, `{"input":{}}`); code != http.StatusOK {
			refused++
		}
	}
	if refused == 0 {
		t.Error("without its retry HAProxy never met the busy server: this test shows nothing")
	}
	for i := range requests {
		same(t, fmt.Sprintf("request %d ran", i), times(t, a, fmt.Sprint("t", i)), 1)
	}

	both := makeFIFO(t, a.Dir, "gate2")
	enqueue(t, b, "known", input{"gate": "gate2", "token": "known"})
	becomes(t, a, "known", "processing")
	code, header, text := through(t, address, `{"input":{}}`)
	if code != http.StatusConflict || header.Get("Pinion-Retry") != "elsewhere" || header.Get("Pinion-Refused") != "" {
		t.Errorf("with both servers busy: %d %v %s", code, header, text)
	}
	code, header, text = through(t, address, `{"id":"known","input":{}}`, "Prefer", "respond-async")
	if code != http.StatusConflict || header.Get("Pinion-Retry") != "" {
		t.Errorf("an id that is known: %d %v %s", code, header, text)
	}
	open()
	both()
	wantCode(t, "the first request", <-busy, http.StatusOK)
	becomes(t, b, "known", "succeeded")
	same(t, "the known id ran", times(t, a, "known"), 1)

	a.Stop() // the balancer notices, or connects elsewhere
	for i := range requests {
		if code, _, text := through(t, address, `{"input":{}}`); code != http.StatusOK {
			t.Errorf("request %d after a server has stopped: %d %s", i, code, text)
		}
	}
}

// TestHAProxyTellsOfALostServer: a request that a model had seen when its server died is answered 502, and does not run again.
func TestHAProxyTellsOfALostServer(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	a := member(t, nats.URL, harness.Options{})
	b := member(t, nats.URL, harness.Options{Dir: a.Dir})
	balancer := harness.At(startHAProxy(t, a, b, nil))
	makeFIFO(t, a.Dir, "gate")
	answer := balancer.Begin("p1", input{"gate": "gate", "token": "p1"})
	harness.Eventually(t, "it runs", func() bool { return times(t, a, "p1") == 1 })
	lost, left := a, b
	if b.Health().Workers[0].Busy == 1 {
		lost, left = b, a
	}
	lost.Kill()
	wantCode(t, "the answer", harness.Receive(t, answer), http.StatusBadGateway)
	if got := stateOf(left, "p1"); got.Code != http.StatusNotFound || times(t, a, "p1") != 1 {
		t.Errorf("the other server knows it, or it ran again: %s, %d times", got, times(t, a, "p1"))
	}
	if got := balancer.Create(map[string]any{"id": "p1", "input": input{"token": "p1"}}); got.Code != http.StatusOK || times(t, a, "p1") != 2 {
		t.Errorf("the client repeats it: %s", got)
	}
}
