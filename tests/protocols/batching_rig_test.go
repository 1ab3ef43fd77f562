package protocols

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// batching is a running `pinion batching`.
type batching struct {
	t        testing.TB
	log      *harness.Log
	cmd      *exec.Cmd
	ended    chan struct{}
	dir      string // its working folder
	server   *harness.Server
	protocol string
	address  string // where workers connect
}

// startBatching starts the server for workers of that protocol and waits until it listens. When the test ends it
// must leave with exit status 0 at SIGTERM.
func startBatching(t testing.TB, protocol string, arguments ...string) *batching {
	t.Helper()
	return startWrapped(t, nil, protocol, arguments...)
}

// startWrapped is startBatching by a command that becomes the server.
func startWrapped(t testing.TB, wrap []string, protocol string, arguments ...string) *batching {
	t.Helper()
	harness.AnyPython(t) // its workers bring their own
	b := &batching{t: t, log: &harness.Log{}, ended: make(chan struct{}), dir: harness.ShortTempDir(t), protocol: protocol}
	address := filepath.Join(b.dir, "batching.socket")
	if protocol == "tcp" {
		address = "127.0.0.1:0"
	}
	arguments = slices.Concat(wrap, []string{
		harness.Binary(t), "batching", "-protocol", protocol, "-address", address,
		"-host", "127.0.0.1", "-port", "0", "-log-format", "json",
	}, arguments)
	b.cmd = exec.Command(arguments[0], arguments[1:]...)
	b.cmd.Dir, b.cmd.Env = b.dir, harness.BareEnv()
	b.cmd.Stdout, b.cmd.Stderr = b.log, b.log
	assert.NoError(t, b.cmd.Start(), "start the server")
	go func() {
		_ = b.cmd.Wait() // ProcessState says how it ended
		close(b.ended)
	}()
	t.Cleanup(b.leave)
	assert.Eventually(t, "the server listens", func() bool {
		line, ok := b.log.Find("listening")
		if ok {
			b.server = harness.At(line.Address)
		}
		var event struct{ Workers string }
		_ = json.Unmarshal([]byte(line.Raw), &event)
		b.address = strings.TrimPrefix(event.Workers, protocol+":")
		return ok || b.hasEnded()
	})
	assert.TrueNow(t, b.server != nil, "the server ended before it listened: got nil, want non-nil:\n%s", b.log)
	return b
}

func (b *batching) hasEnded() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

// stop asks the server to leave, and returns its exit code.
func (b *batching) stop(signal syscall.Signal) int {
	b.t.Helper()
	_ = b.cmd.Process.Signal(signal) // it may have ended, which its exit code tells
	assert.Eventually(b.t, "the server ends", b.hasEnded)
	return b.cmd.ProcessState.ExitCode()
}

func (b *batching) leave() {
	b.server.CloseIdle()
	if !b.hasEnded() {
		assert.Equal(b.t, "exit code", b.stop(syscall.SIGTERM), 0)
	}
	for _, line := range b.log.Lines() {
		assert.True(b.t, line.Level != "ERROR",
			"the log tells of a defect: %s: got %q, want anything but ERROR", line.Raw, line.Level)
	}
	if b.t.Failed() {
		b.t.Logf("the server's log:\n%s", b.log)
	}
}

func (b *batching) do(method, path, body string) harness.Answer {
	return b.server.Do(method, path, body)
}

func (b *batching) post(body string) harness.Answer { return b.do(http.MethodPost, "/inference", body) }

// begin posts in the background.
func (b *batching) begin(body string) <-chan harness.Answer {
	answer := make(chan harness.Answer, 1)
	go func() { answer <- b.post(body) }()
	return answer
}

// want compares an answer; a body of "*" stands for any.
func (b *batching) want(got harness.Answer, code int, body string) {
	b.t.Helper()
	assert.True(b.t, got.Err == nil && got.Code == code && (body == "*" || string(got.Body) == body),
		"answered %s, want %d %.300q", got, code, body)
}

// metric is the value of a series of /metrics, as text; "" means it is not there.
func (b *batching) metric(name string) string {
	b.t.Helper()
	for line := range strings.Lines(string(b.do(http.MethodGet, "/metrics", "").Body)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// waitMetric waits until a series has a value.
func (b *batching) waitMetric(name, value string) {
	b.t.Helper()
	assert.Eventually(b.t, name+" is "+value, func() bool { return b.metric(name) == value })
}

const (
	queueLength  = "pinion_queue_length"
	inFlight     = "pinion_predictions_in_flight"
	readyWorkers = `pinion_workers{state="ready"}`
)

// wireWorker is a worker written straight from the protocol.
type wireWorker struct {
	b    *batching
	conn net.Conn
}

type wireItem struct{ id, body string }

// worker connects a worker that says that it is ready.
func (b *batching) worker() *wireWorker {
	b.t.Helper()
	conn := assert.Must(net.Dial(b.protocol, b.address))(b.t)
	b.t.Cleanup(func() { conn.Close() })
	w := &wireWorker{b, conn}
	w.send(make([]byte, 4))
	return w
}

func (w *wireWorker) send(p []byte) {
	w.b.t.Helper()
	_, err := w.conn.Write(p)
	assert.NoError(w.b.t, err, "worker")
}

// take reads a batch, and compares its bodies where some are given.
func (w *wireWorker) take(want ...string) []wireItem {
	w.b.t.Helper()
	items, err := w.next()
	assert.NoError(w.b.t, err, "worker")
	var got []string
	for _, it := range items {
		got = append(got, it.body)
	}
	assert.True(w.b.t, len(want) == 0 || fmt.Sprint(got) == fmt.Sprint(want),
		"the worker got %.300q, want %.300q", got, want)
	return items
}

func (w *wireWorker) next() (items []wireItem, err error) {
	_ = w.conn.SetReadDeadline(time.Now().Add(time.Minute)) // far beyond what it takes
	var length [4]byte
	if _, err = io.ReadFull(w.conn, length[:]); err != nil {
		return nil, err
	}
	message := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err = io.ReadFull(w.conn, message); err != nil {
		return nil, err
	}
	n, message, err := msgp.ReadMapHeaderBytes(message)
	for range n {
		var id string
		var body []byte
		if err == nil {
			id, message, err = msgp.ReadStringBytes(message)
		}
		if err == nil {
			body, message, err = msgp.ReadBytesZC(message)
		}
		items = append(items, wireItem{id, string(body)})
	}
	return items, err
}

// answer answers a batch: each with what f makes of its body, where it has something to say.
func (w *wireWorker) answer(items []wireItem, f func(body string) (answer string, bad bool)) error {
	message := msgp.AppendMapHeader(nil, 0)
	n := uint32(0)
	var bad string
	for _, it := range items {
		text, isBad := f(it.body)
		message = msgp.AppendBytes(msgp.AppendString(message, it.id), []byte(text))
		if n++; isBad {
			bad += it.id
		}
	}
	if bad != "" {
		message = msgp.AppendString(msgp.AppendString(message, "error_ids"), bad)
		n++
	}
	message = append(msgp.AppendMapHeader(nil, n), message[1:]...)
	_, err := w.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...))
	return err
}

func (w *wireWorker) echo(items []wireItem) {
	w.b.t.Helper()
	assert.NoError(w.b.t, w.answer(items, func(body string) (string, bool) { return body + "!", false }), "worker")
}

// run has a worker echo until its connection ends.
func (w *wireWorker) run() {
	go func() {
		for {
			items, err := w.next()
			if err != nil || w.answer(items, func(body string) (string, bool) { return body + "!", false }) != nil {
				return
			}
		}
	}()
}

// disconnected waits until the server has ended a worker's connection.
func (w *wireWorker) disconnected() {
	w.b.t.Helper()
	_ = w.conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.Copy(io.Discard, w.conn); err != nil {
		e, ok := errors.AsType[net.Error](err)
		assert.TrueNow(w.b.t, !ok || !e.Timeout(), "the connection goes on")
	}
}

// bothProtocols runs a test for workers on unix and on tcp sockets.
func bothProtocols(t *testing.T, test func(t *testing.T, protocol string)) {
	t.Parallel()
	for _, protocol := range []string{"unix", "tcp"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			test(t, protocol)
		})
	}
}
