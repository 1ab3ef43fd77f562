package harness

import (
	"net"
	"testing"
	"time"

	"pinion/tests/assert"
)

// SlowLink is a proxy that delays everything, and passes PerSecond bytes a second in each direction.
type SlowLink struct {
	Delay     time.Duration
	PerSecond int // bytes
}

// onTheWay is bytes in transit, which arrive when they are due.
type onTheWay struct {
	data []byte
	due  time.Time
}

// To returns the address at which the proxy listens for another address.
func (l SlowLink) To(t *testing.T, address string) string {
	t.Helper()
	listener := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
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
func (l SlowLink) pass(from, to net.Conn) {
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
		free = free.Add(time.Duration(n) * time.Second / time.Duration(l.PerSecond))
		time.Sleep(time.Until(free)) // it holds no more than the link
		way <- onTheWay{data[:n], free.Add(l.Delay)}
	}
}
