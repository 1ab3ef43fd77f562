package workers

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// workerInfo is what the model of fleet.py says of its process.
type workerInfo struct{ pid, generation, gpus string }

func workerOf(t testing.TB, a harness.Answer) workerInfo {
	t.Helper()
	f := strings.Fields(a.Text(t))
	assert.EqualNow(t, fmt.Sprintf("the model says %s", a), len(f), 3)
	return workerInfo{f[0], f[1], f[2]}
}

// fleet serves fleet.py.
func fleet(t testing.TB, o harness.Options) *harness.Server {
	t.Helper()
	o.Model = "fleet.py"
	return harness.Ready(t, o)
}

// clientLoad are clients that ask again and again, and count their answers.
type clientLoad struct {
	stop    chan struct{}
	done    sync.WaitGroup
	mu      sync.Mutex
	answers []harness.Answer // that were no success
	good    int
}

// startClients has n clients ask, each when it was answered; input makes the input of a client's n-th request.
func startClients(s *harness.Server, n int, input func(client, n int) any) *clientLoad {
	c := &clientLoad{stop: make(chan struct{})}
	for client := range n {
		c.done.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-c.stop:
					return
				default:
				}
				a := s.Input(input(client, i))
				c.mu.Lock()
				if a.Err == nil && a.Code == http.StatusOK && a.Status == "succeeded" {
					c.good++
				} else {
					c.answers = append(c.answers, a)
				}
				c.mu.Unlock()
			}
		})
	}
	return c
}

func (c *clientLoad) answered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.good
}

// more waits until the clients got so many more good answers.
func (c *clientLoad) more(t testing.TB, n int) {
	t.Helper()
	until := c.answered() + n
	assert.Eventually(t, "the clients are answered", func() bool { return c.answered() >= until })
}

// stopAll ends the clients, and returns the answers that were no success.
func (c *clientLoad) stopAll() []harness.Answer {
	close(c.stop)
	c.done.Wait()
	return c.answers
}

func plain(int, int) any { return harness.Input{} }
