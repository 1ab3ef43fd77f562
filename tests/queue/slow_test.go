package queue

import (
	"net"
	"strings"
	"testing"
	"time"

	"pinion/tests/harness"
)

// slowLink is a proxy on whose way everything takes the delay, and that passes so many bytes a second each way.
type slowLink struct {
	delay     time.Duration
	perSecond int
}

// onTheWay are bytes that arrive when they are due.
type onTheWay struct {
	data []byte
	due  time.Time
}

// to returns the address at which the proxy listens for another address.
func (l slowLink) to(t *testing.T, address string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", address)
			if err != nil {
				client.Close()
				continue
			}
			go l.pass(client, server)
			go l.pass(server, client)
		}
	}()
	return listener.Addr().String()
}

// pass passes bytes on until one side closes.
func (l slowLink) pass(from, to net.Conn) {
	defer from.Close()
	way := make(chan onTheWay, 64)
	go func() {
		defer to.Close()
		for c := range way {
			time.Sleep(time.Until(c.due))
			if _, err := to.Write(c.data); err != nil {
				from.Close() // then nothing more is read; what is on the way is dropped
			}
		}
	}()
	defer close(way)
	free := time.Now() // when the link has passed what came
	for {
		data := make([]byte, 8<<10)
		n, err := from.Read(data)
		if err != nil {
			return
		}
		if now := time.Now(); free.Before(now) {
			free = now
		}
		free = free.Add(time.Duration(n) * time.Second / time.Duration(l.perSecond))
		time.Sleep(time.Until(free)) // it holds no more than the link
		way <- onTheWay{data[:n], free.Add(l.delay)}
	}
}

// TestQueue_OverSlowLink: a body takes longer on its way to NATS than NATS may be silent, and so do its way to the
// server that runs it and that of its result.
func TestQueue_OverSlowLink(t *testing.T) {
	t.Parallel()
	nats := harness.StartNATS(t)
	address := strings.TrimPrefix(nats.URL, "nats://")
	link := slowLink{delay: 25 * time.Millisecond, perSecond: 1_000_000 / 8}
	far := "nats://" + link.to(t, address)
	a := harness.StartMember(t, far,
		harness.Options{Model: "mixed.py:Runner", Dir: harness.NewFolder(t, "mixed.py", mixedModel)})
	large := strings.Repeat("x", 1<<20)
	harness.Enqueue(t, a, "large", harness.Input{"token": large})
	harness.Enqueue(t, a, "small", harness.Input{"token": "small"})
	harness.WaitStatus(t, a, "small", "succeeded")
	harness.WaitStatus(t, a, "large", "succeeded")
	for token, n := range map[string]int{"small": 1, large: 1} {
		if got := harness.TimesRun(t, a, token); got != n {
			t.Errorf("%.10s ran %d times, want %d", token, got, n)
		}
	}
}
