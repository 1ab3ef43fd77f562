package ventu

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pinion/tests/assert"
)

// TestStress_EveryJobEndsOnce: many clients, workers that come and go in every way, cancels. Each job gets its own
// answer, and nothing is left.
func TestStress_EveryJobEndsOnce(t *testing.T) {
	r := newRig(t, "unix", Options{MaxSize: 8, Timeout: time.Hour, Capacity: 10_000})
	keeper := r.worker().run()
	var stop atomic.Bool
	var rough sync.WaitGroup
	for range 3 {
		rough.Go(func() {
			for !stop.Load() {
				w, err := r.dial()
				if err != nil {
					if !stop.Load() { // else the queue is closed, and its socket is closed
						t.Error(err)
					}
					return
				}
				w.conn.Write([]byte{0, 0, 0, 0})
				for range rand.IntN(20) {
					items, err := w.tryTake()
					if err != nil {
						break
					}
					kv := []string{}
					for _, it := range items {
						kv = append(kv, it.id, "re: "+it.body)
					}
					message := framed(pairs(kv...))
					if rand.IntN(10) == 0 {
						w.conn.Write(message[:rand.IntN(len(message))])
						break
					}
					w.conn.Write(message)
				}
				w.conn.Close()
			}
		})
	}
	var clients sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for c := range 16 {
		clients.Go(func() {
			for i := range 60 {
				body := fmt.Sprint(c, "-", i)
				j, err := r.Submit([]byte(body))
				if err != nil {
					t.Error(err)
					return
				}
				if rand.IntN(10) == 0 {
					go j.Cancel()
				}
				status, answer := j.Wait()
				mu.Lock()
				statuses[status]++
				mu.Unlock()
				assert.False(t, status == 200 && string(answer) != "re: "+body, "job %q got the answer %q, want %q", body, answer, "re: "+body)
			}
		})
	}
	clients.Wait()
	stop.Store(true)
	keeper.conn.Close() // so that those who wait for a batch see their connections through
	r.Close()
	rough.Wait()
	for status := range statuses {
		assert.False(t, status != 200 && status != 502 && status != StatusCanceled,
			"%d jobs ended with %d, want 200 or 502 or %d", statuses[status], status, StatusCanceled)
	}
	if l := r.Load(); l.InFlight != 0 || l.Queued != 0 || statuses[200] == 0 {
		t.Errorf("left behind: %+v; ends: %v, want InFlight 0, Queued 0 and statuses[200] not 0", l, statuses)
	}
}
