package main

import (
	"bytes"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"pinion/cmd/pinion/internal/cli"
	"pinion/cmd/pinion/internal/process"
	"pinion/runtime/supervise"
	"pinion/tests/assert"
)

// TestMain gives the test's program the roles of the binary: the worker of the front in TestFootprint_Requests, and a
// front that counts its own start.
func TestMain(m *testing.M) {
	if spec, ok := os.LookupEnv(supervise.EnvName); ok {
		os.Exit(workerMain(spec))
	}
	if len(os.Args) > 2 && os.Args[1] == process.ContainArgument {
		os.Exit(process.ContainMain(os.Args[2:]))
	}
	runtime.UnlockOSThread()
	if os.Getenv(countedFront) != "" {
		os.Exit(countedFrontMain(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// footprintModel echoes a text, as a whole or as a stream of one item.
const footprintModel = `from typing import Iterator

import cog


def echo(text: str) -> str:
    return text


@cog.streaming
def stream(text: str) -> Iterator[str]:
    yield text
`

// request is one as a client sends it. Its answer ends with its last bytes.
type request struct{ text, end []byte }

func post(headers, end string) request {
	const body = `{"input":{"text":"nineteen characters"}}`
	const text = "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s"
	return request{fmt.Appendf(nil, text, headers, len(body), body), []byte(end)}
}

func plain(line, headers string) request {
	return request{[]byte(line + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n"), []byte("}")}
}

// TestFootprint_Requests counts what the front allocates for a request, from the socket to the answer. A count that
// exceeds the recorded one fails; PINION_RECORD=1 records the counts, and the commit says why they changed.
func TestFootprint_Requests(t *testing.T) {
	python, _, _ := strings.Cut(os.Getenv("PINION_TEST_PYTHONS"), ":")
	if python == "" {
		t.Skip("PINION_TEST_PYTHONS names no Python")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a cycle empties the pools
	t.Setenv("GOGC", "off")
	var (
		sync   = post("", "}")
		async  = post("Prefer: respond-async\r\n", "}")
		stream = post("Accept: text/event-stream\r\n", "0\r\n\r\n")
		traced = []string{
			"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_BSP_SCHEDULE_DELAY=3600000",
			"OTEL_METRIC_EXPORT_INTERVAL=3600000",
			"OTEL_BLRP_SCHEDULE_DELAY=3600000", "OTEL_BSP_MAX_QUEUE_SIZE=65536",
			"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=65536", // no window has an attempt to export
		}
	)
	var got record
	for _, c := range []struct {
		name, model string
		requests    []request
		env         []string
		margin      int // of the bytes, in percent
	}{
		{"sync", "echo", []request{sync}, nil, 1},
		{"async-then-sync", "echo", []request{async, sync}, nil, 1}, // the second one waits for the end of the first
		{"stream", "stream", []request{stream}, nil, 1},
		{"traced", "echo", []request{sync}, traced, 10}, // the batch of spans grows
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, setting := range c.env {
				name, value, _ := strings.Cut(setting, "=")
				t.Setenv(name, value)
			}
			allocs, size := footprint(t, python, c.model, c.requests)
			got = append(got, count{c.name + " allocations", allocs, 0}, count{c.name + " bytes", size, size * c.margin / 100})
		})
	}
	got.compare(t, "testdata/requests.txt", 0)
}

// footprint serves a model in this process and returns what one round of requests allocates.
func footprint(t *testing.T, python, model string, requests []request) (allocs, size int) {
	dir := t.TempDir()
	for name, text := range map[string]string{"run.py": footprintModel, "cog.yaml": "run: run.py:" + model + "\n"} {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	socket := filepath.Join(dir, "s")
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run([]string{
			"serve", dir, "--host", "unix:" + socket, "--python", python, "--queue", "16", "--log-level", "error",
		})
	}()
	c := dial(t, socket)
	defer func() {
		c.exchange(t, plain("POST /shutdown", "Content-Length: 0\r\n"))
		assert.Equal(t, "exit code of the server", <-ended, 0)
	}()
	c.awaitReady(t)
	const warmUp, windows, rounds = 500, 8, 250
	ask := func(n int) {
		for range n {
			for _, r := range requests {
				c.exchange(t, r)
			}
		}
	}
	ask(warmUp)
	allocs, size = math.MaxInt, math.MaxInt // of the least window: other work of the machine can only add
	for range windows {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ask(rounds)
		runtime.ReadMemStats(&after)
		allocs = min(allocs, int(after.Mallocs-before.Mallocs)/rounds)
		size = min(size, int(after.TotalAlloc-before.TotalAlloc)/rounds)
	}
	return allocs, size
}

// client is a connection that allocates nothing for a request.
type client struct {
	net.Conn
	answer []byte
}

func dial(t *testing.T, socket string) *client {
	var c net.Conn
	assert.Eventually(t, "the server listens", func() (listens bool) {
		var err error
		c, err = net.Dial("unix", socket)
		return err == nil
	})
	return &client{c, make([]byte, 64<<10)}
}

func (c *client) awaitReady(t *testing.T) {
	ask := plain("GET /health-check", "")
	assert.Eventually(t, "the server is ready", func() bool {
		return bytes.Contains(c.exchange(t, ask), []byte(`"status":"READY"`))
	})
}

// exchange sends a request and reads its answer.
func (c *client) exchange(t *testing.T, r request) []byte {
	_, err := c.Write(r.text)
	assert.NoError(t, err)
	n := 0
	for !c.whole(n, r.end) {
		more, err := c.Read(c.answer[n:])
		if err != nil {
			t.Fatalf("read an answer: got %v, want no error after %q", err, c.answer[:n])
		}
		n += more
	}
	if text := c.answer[:n]; !bytes.HasPrefix(text, []byte("HTTP/1.1 20")) { // by assert it would allocate
		t.Fatalf("got %s, want a good answer", text)
	}
	return c.answer[:n]
}

var contentLength = []byte("\r\nContent-Length: ")

// whole reports whether an answer has come as a whole: by its length, or by its end if it has none.
func (c *client) whole(n int, end []byte) bool {
	head := bytes.Index(c.answer[:n], []byte("\r\n\r\n"))
	if head < 0 {
		return false
	}
	at := bytes.Index(c.answer[:head], contentLength)
	if at < 0 {
		return bytes.HasSuffix(c.answer[:n], []byte(end))
	}
	digits, _, _ := bytes.Cut(c.answer[at+len(contentLength):head+2], []byte("\r\n"))
	length := 0
	for _, d := range digits {
		length = 10*length + int(d-'0')
	}
	return n == head+4+length
}
