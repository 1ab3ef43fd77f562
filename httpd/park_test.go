package httpd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"pinion/runtime/memory"
	"pinion/tests/await"
)

// lot starts a server that parks every connection that two sweeps find idle.
func lot(t *testing.T, f *fake, o Options) *site {
	s := serve(t, f, o)
	s.conns.mu.Lock()
	s.conns.parkAbove = 0
	s.conns.mu.Unlock()
	return s
}

// parkedNow is how many connections are parked.
func (s *site) parkedNow() int {
	s.parking.mu.Lock()
	defer s.parking.mu.Unlock()
	return len(s.parking.by)
}

// park sweeps until n connections are parked.
func (s *site) park(t *testing.T, n int) {
	t.Helper()
	await.Eventually(t, fmt.Sprintf("%d connections are parked", n), func() bool {
		s.sweep()
		return s.parkedNow() == n
	})
}

const homeRequest = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

func TestParkedConnectionsAreServedAgain(t *testing.T) {
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
		if n := s.open(); n != many {
			t.Fatalf("%d connections are open, want %d", n, many)
		}
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
	await.Eventually(t, "none is open", func() bool { return s.open() == 0 })
}

// TestConnections_AreParkedAtOnce while memory is short, without a sweep.
func TestConnections_AreParkedAtOnce(t *testing.T) {
	b := memory.New(memory.LeastBudget)
	s := lot(t, newFake(), Options{Memory: b})
	s.conns.mu.Lock()
	s.conns.sweeper.Stop()
	s.conns.sweeping = true // none comes
	s.conns.mu.Unlock()
	if !b.Take(memory.LeastBudget*3/4, memory.LeastBudget*3/4) {
		t.Fatal("no room in an empty budget")
	}
	c := s.dial(t)
	for range 3 {
		c.send(homeRequest + homeRequest)
		c.want(200)
		c.want(200)
		await.Eventually(t, "the connection is parked", func() bool { return s.parkedNow() == 1 })
	}
	b.Free(memory.LeastBudget * 3 / 4)
	c.send(homeRequest)
	c.want(200)
	await.Eventually(t, "the connection is idle", func() bool { return len(s.idle()) == 1 })
	if n := s.parkedNow(); n != 0 {
		t.Errorf("got %d parked, want none while there is memory", n)
	}
}

// TestConnections_AreParkedAtOnceWhereTheyAreTooManyForTheBudget: a buffer for each would take it, and nothing charges
// what an idle one has.
func TestConnections_AreParkedAtOnceWhereTheyAreTooManyForTheBudget(t *testing.T) {
	const many = memory.LeastBudget/2/headCost + 1
	s := lot(t, newFake(), Options{Memory: memory.New(memory.LeastBudget)})
	s.conns.mu.Lock()
	s.conns.sweeper.Stop()
	s.conns.sweeping = true // none comes
	s.conns.mu.Unlock()
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
	await.Eventually(t, "all are parked", func() bool { return s.parkedNow() == many })
}

// TestParkedConnectionsKeepTheirTime: the idle timeout holds for them too.
func TestParkedConnectionsKeepTheirTime(t *testing.T) {
	s := lot(t, newFake(), Options{IdleTimeout: time.Hour})
	c := s.dial(t)
	c.send(homeRequest)
	c.want(200)
	s.park(t, 1)
	s.sweep()
	if n := s.parkedNow(); n != 1 {
		t.Fatalf("%d are parked, want 1: it has an hour", n)
	}
	s.conns.mu.Lock()
	for c := range s.conns.open {
		if left := time.Until(s.began.Add(time.Duration(c.until.Load()))); left < 50*time.Minute || left > time.Hour {
			t.Errorf("%v are left to it", left)
		}
		c.until.Store(int64(time.Since(s.began) - time.Second))
	}
	s.conns.mu.Unlock()
	s.sweep()
	c.ended()
	if n := s.open(); n != 0 {
		t.Errorf("%d connections are open", n)
	}
}

func TestShutdownClosesParkedConnections(t *testing.T) {
	s := lot(t, newFake(), Options{})
	c := s.dial(t)
	c.send(homeRequest)
	c.want(200)
	s.park(t, 1)
	done := s.shut(context.Background())
	c.ended()
	if err := wait(t, done, "the end of Shutdown"); err != nil {
		t.Error(err)
	}
}

// TestOnlyIdleConnectionsAreParked: one within a request's header, one within its body and one that waits for its
// answer are woken, and nothing comes of it. One that has not sent a byte is parked from the beginning.
func TestOnlyIdleConnectionsAreParked(t *testing.T) {
	f := newFake()
	f.hold = true
	s := lot(t, f, Options{})
	fresh, head, body, waiting := s.dial(t), s.dial(t), s.dial(t), s.dial(t)
	request := postRequest(`{"input":{}}`)
	head.send(request[:10])
	body.send(request[:len(request)-2])
	waiting.post(`{"id":"waiting"}`)
	p := wait(t, f.started, "the prediction")
	await.Eventually(t, "all are known", func() bool { return s.open() == 4 })
	for range 10 {
		s.conns.mu.Lock()
		all := make([]*conn, 0, 4)
		for c := range s.conns.open {
			all = append(all, c)
		}
		s.conns.mu.Unlock()
		for _, c := range all {
			c.wakeRead()
		}
		s.sweep()
	}
	await.Eventually(t, "the silent one alone is parked", func() bool { return s.parkedNow() == 1 })
	f.finish(p)
	waiting.want(200)
	body.send(request[len(request)-2:])
	f.finish(wait(t, f.started, "the prediction whose body was cut"))
	body.want(200)
	head.send(request[10:])
	f.finish(wait(t, f.started, "the prediction whose head was cut"))
	head.want(200)
	fresh.send(homeRequest)
	fresh.want(200)
}

// TestParkingLosesNoRequest has clients whose requests come while their connections are being parked.
func TestParkingLosesNoRequest(t *testing.T) {
	s := lot(t, newFake(), Options{})
	stop := make(chan struct{})
	var sweeps sync.WaitGroup
	sweeps.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				s.sweep()
			}
		}
	})
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
	close(stop)
	sweeps.Wait()
}

// exchange sends a request and reads its answer, which is to be 200.
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
