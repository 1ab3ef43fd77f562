package chaos

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"pinion/tests/harness"
)

// hooks receives webhooks: some it refuses, some it breaks off, and for a while it lets all of them wait.
type hooks struct {
	server  *httptest.Server
	journal func(entry)

	mu      sync.Mutex
	random  *rand.Rand
	refused map[string]int           // by id: how often completed was
	ended   map[string]chan struct{} // by id: closed when completed was taken in
	stuck   chan struct{}            // closed when all go on; nil means none is stuck
}

// maxRefusals of one prediction's completed: each costs twice as long a wait.
const maxRefusals = 2

func newHooks(t testing.TB, seed uint64, note func(entry)) *hooks {
	h := &hooks{
		journal: note, random: rand.New(rand.NewPCG(seed, 1)), refused: map[string]int{},
		ended: map[string]chan struct{}{},
	}
	h.server = httptest.NewServer(h)
	t.Cleanup(func() {
		h.loose()
		h.server.Close()
	})
	return h
}

func (h *hooks) url() string { return h.server.URL }

// ServeHTTP receives a webhook.
func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	id := strings.TrimPrefix(r.URL.Path, "/")
	var p harness.Prediction
	if json.Unmarshal(body, &p) != nil || p.ID != id {
		h.journal(entry{What: "broken", ID: id, Error: "a webhook is told " + string(body[:min(len(body), 300)])})
		return
	}
	h.mu.Lock()
	stuck := h.stuck
	h.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	h.mu.Lock()
	refuse := h.random.IntN(8) == 0 && h.refused[id] < maxRefusals
	drop := h.random.IntN(2) == 0
	if refuse {
		h.refused[id]++
	}
	h.mu.Unlock()
	e := observed("hook", id, 0, p)
	e.Taken = !refuse
	h.journal(e) // before the answer, or the next delivery could be noted first
	switch {
	case refuse && drop:
		panic(http.ErrAbortHandler)
	case refuse:
		w.WriteHeader(http.StatusServiceUnavailable)
	case isFinal(p.Status):
		h.mu.Lock()
		defer h.mu.Unlock()
		c := h.chanOf(id)
		select {
		case <-c: // a second one: the checker's matter
		default:
			close(c)
		}
	}
}

// chanOf is called with the lock held.
func (h *hooks) chanOf(id string) chan struct{} {
	if h.ended[id] == nil {
		h.ended[id] = make(chan struct{})
	}
	return h.ended[id]
}

func (h *hooks) has(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.chanOf(id):
		return true
	default:
		return false
	}
}

// wait waits until the event completed of a prediction was accepted. If it never comes, the checker says so.
func (h *hooks) wait(id string) { _ = until(func() bool { return h.has(id) }) }

// forget drops what is known of a round.
func (h *hooks) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.refused)
	clear(h.ended)
}

// stick makes every webhook wait until loose is called.
func (h *hooks) stick() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stuck == nil {
		h.stuck = make(chan struct{})
	}
}

func (h *hooks) loose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stuck != nil {
		close(h.stuck)
		h.stuck = nil
	}
}
