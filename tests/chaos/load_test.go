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

	"pinion/tests/harness"
)

const (
	// honest is how many clients a load has, and honestPause lies between two requests of one.
	honest, honestPause = 4, 20 * time.Millisecond
	// ballast is what a large body has more, in bytes.
	ballast = 300_000
)

// load is honest clients beside what a scene does to a server. Each asks again and again, and every answer must be its
// own.
type load struct {
	t       *testing.T
	s       *harness.Server
	stop    chan struct{}
	once    sync.Once // closes stop
	clients sync.WaitGroup

	mu      sync.Mutex
	excuses bool // a prediction may be refused, or fail with its worker
	during  string
	right   atomic.Int64 // own answers
	excused atomic.Int64
}

// beginLoad lets clients ask until the end of the load.
func beginLoad(t *testing.T, s *harness.Server) *load {
	l := &load{t: t, s: harness.At(s.Address), stop: make(chan struct{})} // with connections of its own
	t.Cleanup(l.quit)
	for client := range honest {
		l.clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-l.stop:
					return
				case <-time.After(honestPause):
					size := 0
					if n%5 == 4 {
						size = ballast
					}
					l.ask(fmt.Sprintf("%08x%08x", client, n), size)
				}
			}
		})
	}
	return l
}

// ask makes one prediction, on its own connection: the server may close an idle one at any time.
func (l *load) ask(token string, size int) {
	before, during := l.scene()
	a, err := predict(l.s, token, size, "Connection", "close")
	after, _ := l.scene()
	switch {
	case err == nil:
		l.right.Add(1)
	case (before || after) && excusable(a):
		l.excused.Add(1)
	default:
		h := l.s.Do(http.MethodGet, "/health-check", nil, "Connection", "close")
		l.t.Errorf("%s: got %v, want the right answer; then health was %.1500s", during, err, h)
	}
}

func (l *load) scene() (excuses bool, during string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.excuses, l.during
}

// enter names what the clients suffer from here on, and whether they may be refused meanwhile.
func (l *load) enter(during string, excuses bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.during, l.excuses = during, excuses
}

// more waits until the clients got so many more answers that are their own.
func (l *load) more(n int64) {
	l.t.Helper()
	_, during := l.scene()
	target := l.right.Load() + n
	harness.Eventually(l.t, during+": the clients are answered", func() bool {
		return l.right.Load() >= target || l.t.Failed()
	})
}

// quit stops the clients.
func (l *load) quit() {
	l.once.Do(func() { close(l.stop) })
	l.clients.Wait()
}

// end lets the last clients be answered.
func (l *load) end() {
	l.t.Helper()
	l.quit()
	l.t.Logf("%d own answers, %d excused", l.right.Load(), l.excused.Load())
}

// predict has a model of chaos.py run, by a body of that size and a little, and returns what is wrong with the answer.
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
