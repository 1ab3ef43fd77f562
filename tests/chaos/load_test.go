package chaos

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

const (
	// honest is how many clients a load has, and honestPause is the time between two requests of one.
	honest, honestPause = 4, 20 * time.Millisecond
	// ballast is what a large body has more, in bytes.
	ballast = 300_000
)

// clients send requests again and again while a scene does something to a server.
type clients struct {
	t       *testing.T
	stop    chan struct{}
	once    sync.Once // closes stop
	running sync.WaitGroup
	done    atomic.Int64 // own answers, or jobs that have ended
	excused atomic.Int64 // scenes with an excuse: a job counts as lost after a minute, when its scene may be over

	mu      sync.Mutex
	during  string
	excuses bool // what they ask for may be refused, lost, or fail with its worker
}

// begin starts honest clients, which send requests until quit is called. n counts the requests of one.
func (c *clients) begin(t *testing.T, ask func(client, n int)) {
	c.t, c.stop = t, make(chan struct{})
	t.Cleanup(c.quit)
	for client := range honest {
		c.running.Go(func() {
			for n := 0; !t.Failed(); n++ {
				select {
				case <-c.stop:
					return
				case <-time.After(honestPause):
					ask(client, n)
				}
			}
		})
	}
}

func (c *clients) scene() (excuses bool, during string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.excuses, c.during
}

// enter names what the clients suffer from here on, and whether they have an excuse meanwhile.
func (c *clients) enter(during string, excuses bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.during, c.excuses = during, excuses
	if excuses {
		c.excused.Add(1)
	}
}

// more waits until n more requests are done.
func (c *clients) more(n int64) {
	c.t.Helper()
	_, during := c.scene()
	target := c.done.Load() + n
	assert.Eventually(c.t, during+": the clients go on", func() bool { return c.done.Load() >= target || c.t.Failed() })
}

// quit stops the clients.
func (c *clients) quit() {
	c.once.Do(func() { close(c.stop) })
	c.running.Wait()
}

// load is clients of a server. Every answer must be the client's own.
type load struct {
	clients
	s       *harness.Server
	excused atomic.Int64
}

// beginLoad lets clients ask until the end of the load.
func beginLoad(t *testing.T, s *harness.Server) *load {
	l := &load{s: harness.At(s.Address)} // with connections of its own
	l.begin(t, func(client, n int) {
		size := 0
		if n%5 == 4 {
			size = ballast
		}
		l.ask(fmt.Sprintf("%08x%08x", client, n), size)
	})
	return l
}

// ask makes one prediction, on its own connection: the server may close an idle one at any time.
func (l *load) ask(token string, size int) {
	before, during := l.scene()
	a, err := predict(l.s, token, size, "Connection", "close")
	after, _ := l.scene()
	switch {
	case err == nil:
		l.done.Add(1)
	case (before || after) && excusable(a):
		l.excused.Add(1)
	default:
		h := l.s.Do(http.MethodGet, "/health-check", nil, "Connection", "close")
		l.t.Errorf("%s: got %v, want the right answer; then health was %.1500s", during, err, h)
	}
}

// end lets the last clients be answered.
func (l *load) end() {
	l.t.Helper()
	l.quit()
	l.t.Logf("%d own answers, %d excused", l.done.Load(), l.excused.Load())
}

// predict runs a model of chaos.py, with a body of a little more than size bytes, and returns what is wrong with the
// answer.
func predict(s *harness.Server, token string, size int, headers ...string) (harness.Answer, error) {
	body := map[string]any{"input": map[string]any{"token": token}}
	if size > 0 {
		body["context"] = map[string]string{"ballast": strings.Repeat("y", size)}
	}
	a := s.Create(body, headers...)
	own := bytes.HasPrefix(bytes.TrimPrefix(a.Output, []byte("[")), []byte(`"`+token+" "))
	if a.Err == nil && a.Code == http.StatusOK && a.Status == "succeeded" && own {
		return a, nil
	}
	return a, fmt.Errorf("got %.300s, want a prediction of %s", a, token)
}

// excusable reports whether an answer says that there is no worker, or that the prediction's has died.
func excusable(a harness.Answer) bool {
	switch a.Code {
	case http.StatusOK:
		return a.Status == "failed" && strings.Contains(a.Error, "worker")
	case http.StatusTooManyRequests:
		return a.Header.Get("Retry-After") != ""
	case http.StatusServiceUnavailable:
		return a.Header.Get("Retry-After") != "" || bytes.Contains(a.Body, []byte("worker"))
	}
	return false
}
