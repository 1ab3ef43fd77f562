package protocols

import (
	"net"
	"strings"
	"syscall"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// What was broken in the service that `pinion batching` stands in for: each of these fails on its behaviour. What only
// a worker of ventu's shows stands in batching_ventu_test.go.

// TestBatchingDefects_BatchingQueueFull: it answered 200 with the request's own body.
func TestBatchingDefects_BatchingQueueFull(t *testing.T) {
	t.Parallel()
	b := startBatching(t, "unix", "-capacity", "2")
	first, second := b.begin("one"), b.begin("two")
	b.waitMetric(queueLength, "2")
	got := b.post("three")
	assert.True(t, got.Code == 429 && !strings.Contains(string(got.Body), "three") && got.Header.Get("Retry-After") != "",
		`a full queue answers %s, %v, want Code 429, Body without "three" and Retry-After non-empty`, got, got.Header)
	b.worker().run()
	b.want(<-first, 200, "one!")
	b.want(<-second, 200, "two!")
	assert.Equal(t, "refusals counted",
		b.metric(`pinion_predictions_total{mode="sync",reason="capacity",status="failed"}`), "1")
}

// TestBatchingDefects_BatchingLarge: bodies above 4 MB were refused with 400, and answers larger than one read of a
// socket were taken for broken, which ended the server.
func TestBatchingDefects_BatchingLarge(t *testing.T) {
	bothProtocols(t, func(t *testing.T, protocol string) {
		b := startBatching(t, protocol, "-max-body", "20000000")
		b.worker().run()
		for _, size := range []int{300_000, 3_000_000, 19_999_999} {
			body := strings.Repeat("b", size)
			b.want(b.post(body), 200, body+"!")
		}
		got := b.post(strings.Repeat("b", 20_000_001))
		assert.True(t, got.Err != nil || got.Code == 413, "a body above -max-body is answered %s, want Code 413", got)
		b.want(b.post("after"), 200, "after!")
	})
}

// TestBatchingDefects_BatchingAnswerTooLarge: the answer's size is bounded too, and costs its request alone.
func TestBatchingDefects_BatchingAnswerTooLarge(t *testing.T) {
	t.Parallel()
	b := startBatching(t, "unix", "-max-body", "10")
	w := b.worker()
	answer := b.begin("large")
	assert.NoError(t, w.answer(w.take(), func(string) (string, bool) { return "eleven byte", false }))
	b.want(<-answer, 502, "The worker's answer has 11 bytes, and 10 is the most")
	w.run()
	b.want(b.post("next"), 200, "next!")
}

// TestBatchingDefects_BatchingReset: an error of a connection other than its end was tried again for ever; its jobs
// waited for their timeout.
func TestBatchingDefects_BatchingReset(t *testing.T) {
	t.Parallel()
	b := startBatching(t, "tcp", "-timeout", "3600000")
	dying, other := b.worker(), b.worker()
	b.waitMetric(readyWorkers, "2")
	first, second := b.begin("one"), b.begin("two")
	_, taken := dying.take(), other.take()
	assert.NoError(t, dying.conn.(*net.TCPConn).SetLinger(0))
	dying.conn.Close()
	b.waitMetric(readyWorkers, "1")
	other.echo(taken)
	other.run()
	b.want(<-first, 200, "one!")
	b.want(<-second, 200, "two!")
	assert.Eventually(t, "the log tells of it", func() bool { return b.log.Count("worker lost") > 0 })
	assert.Equal(t, "lost workers in the log", b.log.Count("worker lost"), 1)
}

// TestBatchingDefects_BatchingClientDisconnects: so was the job of a client that had left.
func TestBatchingDefects_BatchingClientDisconnects(t *testing.T) {
	t.Parallel()
	b := startBatching(t, "unix", "-timeout", "3600000")
	conn, err := net.Dial("tcp", harness.Host(b.server))
	assert.NoError(t, err)
	_, err = conn.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\ngone"))
	assert.NoError(t, err)
	b.waitMetric(queueLength, "1")
	conn.Close()
	b.waitMetric(inFlight, "0")
	answer := b.begin("stays")
	w := b.worker()
	w.echo(w.take("stays"))
	b.want(<-answer, 200, "stays!")
	assert.Equal(t, "counted as canceled", b.metric(`pinion_predictions_total{mode="sync",reason="",status="canceled"}`),
		"1")
}

// TestBatchingDefects_BatchingShutdown: it always slept for the whole -timeout, and cut off what came in meanwhile.
func TestBatchingDefects_BatchingShutdown(t *testing.T) {
	t.Parallel()
	b := startBatching(t, "unix", "-timeout", "3600000")
	w := b.worker()
	sent := b.begin("sent")
	items := w.take("sent")
	waits := b.begin("waits")
	b.waitMetric(queueLength, "1")
	assert.NoError(t, b.cmd.Process.Signal(syscall.SIGTERM))
	assert.Eventually(t, "nothing more is taken in", func() bool {
		_, err := net.Dial("tcp", harness.Host(b.server))
		return err != nil
	})
	w.echo(items)
	w.echo(w.take("waits"))
	b.want(<-sent, 200, "sent!")
	b.want(<-waits, 200, "waits!")
	w.disconnected()
	assert.Eventually(t, "the server ends", b.hasEnded)
	assert.Equal(t, "exit code", b.cmd.ProcessState.ExitCode(), 0)
}

// TestBatchingDefects_BatchingGrace: what takes longer than the grace is not waited for; nor is anything after a second
// SIGINT.
func TestBatchingDefects_BatchingGrace(t *testing.T) {
	t.Parallel()
	b := startBatching(t, "unix", "-timeout", "3600000", "-grace", "1ms")
	answer := b.begin("x")
	b.waitMetric(queueLength, "1")
	assert.Equal(t, "exit code", b.stop(syscall.SIGTERM), 0)
	got := <-answer
	assert.True(t, got.Err != nil || got.Code == 502, "the request was answered %s, want Code 502", got)

	b = startBatching(t, "unix", "-timeout", "3600000", "-grace", "1h")
	answer = b.begin("x")
	b.waitMetric(queueLength, "1")
	assert.NoError(t, b.cmd.Process.Signal(syscall.SIGINT))
	assert.Eventually(t, "it shuts down", func() bool { return b.log.Count("shutting down") == 1 })
	assert.Equal(t, "exit code", b.stop(syscall.SIGINT), 130)
	<-answer
}
