package httpd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"pinion/httpd/transport"
	"pinion/runtime/memory"
	"pinion/tests/assert"
)

// lot starts a server that parks every connection soon after it has become idle.
func lot(t *testing.T, f *fake, o Options) *site {
	o.conns.ParkAbove = -1
	o.conns.SweepInterval = cmp.Or(o.conns.SweepInterval, time.Millisecond)
	return serve(t, f, o)
}

// parkedNow returns how many connections are parked.
func (s *site) parkedNow() int { return s.transport.Stats().Parked }

// park waits until n connections are parked.
func (s *site) park(t *testing.T, n int) {
	t.Helper()
	assert.Eventually(t, fmt.Sprintf("%d connections are parked", n), func() bool { return s.parkedNow() == n })
}

// unparkedMost is how many connections of the smallest budget are not parked at once.
const unparkedMost = memory.MinBudget / 2 / transport.HeadCost

// TestConnections_AreParkedAtOnceWhereTheyAreTooManyForTheBudget: a buffer for each would take it, and nothing charges
// what an idle one has.
func TestConnections_AreParkedAtOnceWhereTheyAreTooManyForTheBudget(t *testing.T) {
	const many = 2 * unparkedMost
	s := lot(t, newFake(), Options{
		Memory: memory.New(memory.MinBudget), conns: transport.Options{SweepInterval: time.Hour},
	})
	clients := make([]*client, many)
	for i := range clients {
		clients[i] = s.dial(t)
		clients[i].send(homeRequest)
		clients[i].want(200)
	}
	for _, c := range clients {
		c.send(homeRequest)
		c.want(200)
	}
	assert.Eventually(t, "the others are parked", func() bool { return many-s.parkedNow() <= unparkedMost })
}

// TestConnections_OneThatIsUsedBesideManyIsNotParked: to serve it again after each request costs a third of the rate.
func TestConnections_OneThatIsUsedBesideManyIsNotParked(t *testing.T) {
	s := lot(t, newFake(), Options{
		Memory: memory.New(memory.MinBudget), conns: transport.Options{SweepInterval: time.Hour},
	})
	const many = unparkedMost + 1
	used := s.dial(t)
	for range many {
		s.dial(t)
	}
	s.park(t, many+1)
	for range 3 {
		used.send(homeRequest)
		used.want(200)
		assert.Equal(t, "parked connections after a request", s.parkedNow(), many)
	}
}

const homeRequest = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

func TestPark_ParkedConnectionsAreServedAgain(t *testing.T) {
	f := newFake()
	s := lot(t, f, Options{})
	const many = 20
	clients := make([]*client, many)
	for i := range clients {
		clients[i] = s.dial(t)
		clients[i].send(homeRequest)
		clients[i].want(200)
	}
	for round := range 3 {
		s.park(t, many)
		assert.EqualNow(t, "open connections", s.open(), many)
		for i, c := range clients {
			c.post(fmt.Sprintf(`{"id":"%d-%d","input":{}}`, round, i))
		}
		for _, c := range clients {
			c.want(200)
		}
	}
	s.park(t, many)
	for _, c := range clients {
		c.Close()
	}
	assert.Eventually(t, "none is open", func() bool { return s.open() == 0 })
}

// TestConnections_AreParkedAtOnce while memory is short, without a sweep.
func TestConnections_AreParkedAtOnce(t *testing.T) {
	b := memory.New(memory.MinBudget)
	s := lot(t, newFake(), Options{Memory: b, conns: transport.Options{SweepInterval: time.Hour}})
	assert.TrueNow(t, b.Take(memory.MinBudget*3/4, memory.MinBudget*3/4),
		"no room in an empty budget")
	c := s.dial(t)
	for range 3 {
		c.send(homeRequest + homeRequest)
		c.want(200)
		c.want(200)
		assert.Eventually(t, "the connection is parked", func() bool { return s.parkedNow() == 1 })
	}
	b.Free(memory.MinBudget * 3 / 4)
	c.send(homeRequest)
	c.want(200)
	assert.Eventually(t, "the connection is idle", func() bool { return len(s.transport.Idle()) == 1 })
	assert.Equal(t, "parked", s.parkedNow(), 0)
}

func TestPark_ShutdownClosesParkedConnections(t *testing.T) {
	s := lot(t, newFake(), Options{})
	c := s.dial(t)
	c.send(homeRequest)
	c.want(200)
	s.park(t, 1)
	done := s.shut(context.Background())
	c.ended()
	assert.ErrorIs(t, "the end of Shutdown", wait(t, done, "the end of Shutdown"), nil)
}

// TestPark_ParkingLosesNoRequest has clients whose requests come while their connections are being parked.
func TestPark_ParkingLosesNoRequest(t *testing.T) {
	s := lot(t, newFake(), Options{conns: transport.Options{SweepInterval: time.Nanosecond}})
	var clients sync.WaitGroup
	for i := range 8 {
		c := s.dial(t)
		request := postRequest(fmt.Sprintf(`{"id":"%d"}`, i))
		clients.Go(func() {
			for range 400 {
				if err := exchange(c, request); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
}

// exchange sends a request and reads its answer, which must be 200.
func exchange(c *client, request string) error {
	if _, err := c.Conn.Write([]byte(request)); err != nil {
		return err
	}
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return err
}
