package protocols

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
	"pinion/tests/rawgrpc"
)

const (
	// batchingDescriptors is how many descriptors the attacked server may have, and batchingAttackers how many connections
	// an attack has: more than the server takes.
	batchingDescriptors, batchingAttackers = 1024, 700
	// batchingBody is a body that is larger than what the kernel holds for a client that does not read.
	batchingBody = 1 << 20
	// batchingGroup is the memory of its control group in MiB, of which its budget is a quarter; batchingMemory is what it
	// may have: twice its budget, and 128.
	batchingGroup  = 512
	batchingMemory = batchingGroup/2 + 128
)

// TestBatching_Attacks: hostile clients of one kind after another come and stay. Others are answered all the same, by
// workers that were there before and by new ones.
func TestBatching_Attacks(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	const head = "POST /inference HTTP/1.1\r\nHost: x\r\n"
	wrap := []string{"sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$@"`, batchingDescriptors), "sh"}
	_, enter, grouped := harness.MemoryGroup(t, batchingGroup<<20)
	b := startWrapped(t, append(wrap, enter...), "tcp", "-grace", "2s")
	b.worker().run()
	b.waitMetric(readyWorkers, "1") // until then it is one of those that may be closed
	clients := func(n int, text string) []net.Conn {
		from := net.Dialer{LocalAddr: rawgrpc.Address()}
		conns := make([]net.Conn, n)
		for i := range conns {
			conn := assert.Must(from.Dial("tcp", harness.Host(b.server)))(t)
			t.Cleanup(func() { conn.Close() })
			_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
			_, _ = io.WriteString(conn, text) // it may have been closed already
			conns[i] = conn
		}
		return conns
	}
	for _, attack := range []struct {
		name, text string
		drips      bool
	}{
		{"idle connections", "", false},
		{"half headers", head + "X: " + strings.Repeat("x", 20_000), false},
		{"half bodies", head + "Content-Length: 8000000\r\n\r\n" + strings.Repeat("x", 100_000), false},
		{"half chunks", head + "Transfer-Encoding: chunked\r\n\r\nfffff\r\nx", false},
		{"answers that are not read", fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, batchingBody,
			strings.Repeat("x", batchingBody)), false},
		{"bodies that drip", head + "Content-Length: 8000000\r\n\r\n", true},
	} {
		conns := clients(batchingAttackers, attack.text)
		if attack.drips {
			for _, conn := range conns {
				go func() {
					for {
						if _, err := io.WriteString(conn, strings.Repeat("x", 1000)); err != nil {
							return // it is cut, or the test has ended
						}
						time.Sleep(200 * time.Millisecond) // so slow that it is suspicious
					}
				}()
			}
		}
		b.answersOthers(attack.name)
	}
	for range batchingAttackers {
		conn := assert.Must(net.Dial(b.protocol, b.address))(t)
		t.Cleanup(func() { conn.Close() })
	}
	b.worker().run()
	b.waitMetric(readyWorkers, "2")
	b.answersOthers("silent workers")
	most := harness.PeakResident(t, b.cmd.Process.Pid) >> 20
	t.Logf("the front had %d MiB; in a control group: %v", most, grouped)
	assert.True(t, most <= batchingMemory || !grouped, "the front had %d MiB, want at most %d", most, batchingMemory)
	assert.Equal(t, "exit code", b.stop(syscall.SIGTERM), 0)
}

// answersOthers waits until clients beside an attack are answered, small and large, and a platform.
func (b *batching) answersOthers(during string) {
	b.t.Helper()
	b.server.CloseIdle() // the attack may have taken their places
	var right atomic.Int32
	assert.Eventually(b.t, during+": others are answered", func() bool {
		body := strings.Repeat("b", 1+int(right.Load())%2*300_000)
		got := b.server.Do(http.MethodPost, "/inference", body, "Connection", "close")
		health := b.server.Do(http.MethodGet, "/", nil, "Connection", "close")
		if got.Err != nil || got.Code != 200 || string(got.Body) != body+"!" || health.Err != nil {
			b.t.Logf("%s: %.200s, %.200s", during, got, health)
			return false
		}
		return right.Add(1) >= 20
	})
}
