package protocols

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// What `pinion batching` has in common with the service that it stands in for, with a worker written straight from
// the protocol. batching_defects_test.go has what is better, batching_ventu_test.go the real workers.

func TestBatching_Answers(t *testing.T) {
	bothProtocols(t, func(t *testing.T, protocol string) {
		b := startBatching(t, protocol)
		w := b.worker()
		first := b.begin("first")
		items := w.take("first")
		good, bad := b.begin("good"), b.begin("bad")
		b.waitMetric(queueLength, "2")
		w.echo(items)
		got := <-first
		b.want(got, 200, "first!")
		assert.Equal(t, "Content-Type", got.Header.Get("Content-Type"), "text/plain; charset=utf-8")
		assert.NoError(t, w.answer(w.take(),
			func(body string) (string, bool) { return "answer: " + body, body == "bad" }))
		b.want(<-good, 200, "answer: good")
		b.want(<-bad, 422, "answer: bad")
	})
}

// TestBatching_TakesAnyRequest: method and path mean nothing, and an empty body is answered without a worker.
func TestBatching_TakesAnyRequest(t *testing.T) {
	t.Parallel()
	b := startBatching(t, "unix")
	for _, path := range []string{"/", "/inference", "/metrics", "/livez"} {
		b.want(b.post(""), 200, "")
		b.want(b.do(http.MethodPost, path, ""), 200, "")
	}
	b.want(b.do(http.MethodGet, "/", ""), 200, "")
	b.worker().run()
	for i, path := range []string{"/", "/a/b?c=d", "/predictions", "/metrics", "/readyz"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "GET", "ANY"} {
			body := fmt.Sprint(method, i)
			b.want(b.do(method, path, body), 200, body+"!")
		}
	}
}

func TestBatching_OwnPaths(t *testing.T) {
	t.Parallel()
	b := startBatching(t, "unix")
	b.want(b.do(http.MethodGet, "/livez", ""), 200, "{}")
	b.want(b.do(http.MethodGet, "/readyz", ""), 503, `{"detail":"no worker is connected"}`)
	b.worker().run()
	b.waitMetric(readyWorkers, "1")
	b.want(b.do(http.MethodGet, "/readyz", ""), 200, "{}")
	b.want(b.post("x"), 200, "x!")
	for series, value := range map[string]string{
		`pinion_predictions_total{mode="sync",reason="",status="succeeded"}`:  "1",
		`pinion_http_requests_total{code="200",method="POST",route="/"}`:      "1",
		`pinion_http_requests_total{code="503",method="GET",route="/readyz"}`: "1",
		"pinion_batch_size_count":    "1",
		"pinion_queue_capacity":      "1024",
		"pinion_worker_starts_total": "1",
	} {
		assert.Equal(t, series, b.metric(series), value)
	}
}

// TestBatching_Latency: given, it is waited for, and a full batch leaves before; it ends by itself.
func TestBatching_Latency(t *testing.T) {
	t.Parallel()
	b := startBatching(t, "unix", "-latency", "3600000", "-batch", "2", "-timeout", "3600000")
	w := b.worker()
	b.waitMetric(readyWorkers, "1")
	first := b.begin("one")
	b.waitMetric(queueLength, "1") // although the worker is idle
	two := b.begin("two")
	w.echo(w.take("one", "two"))
	b.want(<-first, 200, "one!")
	b.want(<-two, 200, "two!")

	short := startBatching(t, "unix", "-latency", "1", "-timeout", "3600000")
	short.worker().run()
	short.want(short.post("x"), 200, "x!")
}

func TestBatching_Timeout(t *testing.T) {
	t.Parallel()
	b := startBatching(t, "tcp", "-timeout", "2000")
	w := b.worker()
	slow := b.begin("slow")
	items := w.take("slow")
	got := <-slow
	b.want(got, 408, "Timeout!")
	w.echo(items) // too late: it is ignored, and the worker goes on
	for i := range 5 {
		answer := b.begin(fmt.Sprint(i))
		items := w.take(fmt.Sprint(i))
		w.echo(items)
		if got := <-answer; got.Code != 408 { // on a machine that is busy for 50 ms it may be late too
			b.want(got, 200, fmt.Sprint(i, "!"))
		}
	}
}

// TestBatching_Flags: defaults are the original's, but for the latency; what cannot be is refused with the nearest name.
func TestBatching_Flags(t *testing.T) {
	t.Parallel()
	help := assert.Must(exec.Command(harness.Binary(t), "batching", "-h").CombinedOutput())(t)
	for _, want := range []string{
		"(default: batching.socket)", "(default: unix)", "(default: 32)", "(default: 1024)", "(default: 5000)",
		"(default: by the workers and the load;", "(default: 0.0.0.0)", "(default: 8080)",
	} {
		assert.Contains(t, "the help", string(help), want)
	}
	for wrong, want := range map[string]string{
		"-latncy 3":       "did you mean --latency?",
		"--capcity=3":     "did you mean --capacity?",
		"-batch 0":        "-batch 0: must be 1 to 4096",
		"-batch x":        `--batch "x": must be a whole number`,
		"-capacity 0":     "at least 1",
		"-latency -1":     "at least 0",
		"-timeout 0":      "at least 1",
		"-port 70000":     "0 to 65535",
		"-protocol udp":   "unix or tcp",
		"-max-body 0":     "-max-body 0",
		"-grace -1s":      "at least 0",
		"-log-level loud": "debug, info",
		"folder":          "takes no argument, not folder",
	} {
		out, err := exec.Command(harness.Binary(t),
			append([]string{"batching"}, strings.Fields(wrong)...)...).CombinedOutput()
		failed, _ := errors.AsType[*exec.ExitError](err)
		assert.True(t, failed != nil && failed.ExitCode() == 2 && strings.Contains(string(out), want),
			"%s: %v, %s; want exit status 2 and %q", wrong, err, out, want)
	}
}

// TestBatching_SocketFile: what a dead server left is removed, what a living one has is not, and its own goes with it.
func TestBatching_SocketFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(harness.ShortTempDir(t), "s")
	old := assert.Must(net.ListenUnix("unix", &net.UnixAddr{Name: file, Net: "unix"}))(t)
	old.SetUnlinkOnClose(false)
	old.Close()
	b := startBatching(t, "unix", "-address", file)
	out, err := exec.Command(harness.Binary(t), "batching", "-address", file, "-port", "0").CombinedOutput()
	failed, _ := errors.AsType[*exec.ExitError](err)
	assert.True(t, failed != nil && failed.ExitCode() == 1 && strings.Contains(string(out), "in use"),
		`a second server on the same socket: %v, %s, want ExitCode 1 and out with "in use"`, err, out)
	b.worker().run()
	b.want(b.post("x"), 200, "x!")
	b.stop(syscall.SIGTERM)
	_, err = os.Stat(file)
	assert.True(t, os.IsNotExist(err), "the socket is left: %v, want os.ErrNotExist", err)
}

// TestBatching_ManyClients: each gets its own answer.
func TestBatching_ManyClients(t *testing.T) {
	t.Parallel()
	b := startBatching(t, "unix")
	b.worker().run()
	b.worker().run()
	var clients sync.WaitGroup
	for c := range 32 {
		clients.Go(func() {
			for i := range 100 {
				body := fmt.Sprintf("client %d, request %d", c, i)
				b.want(b.post(body), 200, body+"!")
			}
		})
	}
	clients.Wait()
}
