package workers

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// besideBudget is what the front may have beside twice its memory budget, in MiB: itself, and connections.
const besideBudget = 128

// floodingModel runs many predictions at once, whose items come faster than 1000 clients can be written to.
const floodingModel = `
import asyncio
from typing import AsyncIterator
from cog import BaseRunner, streaming

class Runner(BaseRunner):
    @streaming
    async def run(self, n: int = 1, size: int = 1) -> AsyncIterator[str]:
        for i in range(n):
            yield "x" * size
            if i % 50 == 49:
                await asyncio.sleep(0)
`

// TestMemory_FrontHasTwiceItsBudgetAtMost, with everything in it that clients can leave there: streams that no client
// reads, webhooks that no receiver takes, and results. The kernel would kill the server above four times the budget, of
// which the default is a quarter; where more is allowed, the front has no more.
func TestMemory_FrontHasTwiceItsBudgetAtMost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ budget, group int64 }{{64, 256}, {64, 2048}, {256, 1024}, {1024, 4096}} { // MiB
		t.Run(fmt.Sprint(c.budget, " of ", c.group), func(t *testing.T) {
			if c.budget > 64 {
				harness.Full(t)
			}
			s := harness.Ready(t, harness.Options{
				Dir:  harness.NewFolder(t, "run.py", floodingModel, "cog.yaml", "run: run.py:Runner\nconcurrency: {max: 100}\n"),
				Wrap: harness.NeedMemoryGroup(t, c.group<<20),
				Args: []string{"--memory-budget", fmt.Sprint(c.budget, "MiB"), "--queue", "10000", "--queue-timeout", "5m"},
			})
			apart(t, s)
			unread(t, s)
			forgotten(t, s, int(c.budget))
			if used, limit, _ := harness.MemoryBudget(t, s); used > limit || limit != c.budget<<20 {
				t.Errorf("got %d of %d bytes in use, want at most %d MiB", used, limit, c.budget)
			}
			t.Logf("the front had %d MiB", harness.PeakResident(t, s.PID)>>20)
			if most := int64(harness.PeakResident(t, s.PID) >> 20); most > 2*c.budget+besideBudget {
				t.Errorf("the front had %d MiB, want at most %d", most, 2*c.budget+besideBudget)
			}
			s.Signal(syscall.SIGKILL) // the last webhooks are not waited for
			s.Killed()
		})
	}
}

// apart lets 4000 clients begin a prediction each, and read nothing. It waits until all of them have begun to be
// answered: with a stream, or for want of room.
func apart(t *testing.T, s *harness.Server) {
	t.Helper()
	const body = `{"input":{"n":2000,"size":400}}`
	var conns []net.Conn
	for range 4000 {
		conn := s.Dial()
		conns = append(conns, conn)
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		_, err := fmt.Fprintf(conn, "POST /predictions HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		assert.NoError(t, err)
	}
	for _, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Minute))
		_, err := conn.Read(make([]byte, 1))
		assert.NoError(t, err, "one of 4000 clients got no answer")
	}
	for _, conn := range conns {
		conn.Close()
	}
}

// unread lets 3000 clients follow four predictions, and read nothing. It waits until those have ended.
func unread(t *testing.T, s *harness.Server) {
	t.Helper()
	const body = `{"input":{"n":20000,"size":400}}`
	ids := []string{"a", "b", "c", "d"}
	for i := range 3000 {
		conn := s.Dial()
		t.Cleanup(func() { conn.Close() })
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		_, err := fmt.Fprintf(conn, "PUT /predictions/%s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", ids[i%len(ids)], len(body), body)
		assert.NoError(t, err)
	}
	for _, id := range ids {
		assert.Eventually(t, "prediction "+id+" has ended", func() bool {
			a := s.Do(http.MethodGet, "/predictions/"+id, nil)
			assert.NoError(t, a.Err, "the server is gone")
			ended := a.Status == "succeeded" || a.Status == "failed" || a.Status == "canceled"
			return ended || a.Code == http.StatusNotFound // refused, or forgotten already
		})
	}
}

// forgotten makes predictions whose webhooks no receiver takes, half of them with little but a long URL, until there is
// no room.
func forgotten(t *testing.T, s *harness.Server, budget int) {
	t.Helper()
	silent := harness.SilentServer(t)
	harness.RunClients(t, 8, func(int) error {
		for i := range budget * 16 {
			in := harness.Input{"size": 400_000}
			if i%8 != 0 {
				in = harness.Input{}
			}
			a := s.Create(map[string]any{"input": in, "webhook": silent + strings.Repeat("x", 15_000)}, "Prefer",
				"respond-async")
			switch {
			case a.Code == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != "":
				return nil // there is no room
			case a.Code != http.StatusAccepted:
				return fmt.Errorf("a prediction with a webhook: %.300s", a.String())
			}
		}
		return nil
	})
}
