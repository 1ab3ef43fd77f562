package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	balanceServers = 4
	balancePlaces  = 2 // of each
	balanceSleep   = 20 * time.Millisecond
)

// balanceLoads are the loads, as parts of what the places could do without pauses between jobs.
var balanceLoads = []float64{0.7, 0.9}

// balanced compares two ways in which synchronous requests reach servers whose model sleeps: by the job queue, and each
// to the server that has the fewest requests of this client. Requests arrive at random times, whether or not others
// have ended.
func (b *bench) balanced() error {
	const name = "balanced"
	var servers []*process
	places := b.places
	b.places = balancePlaces
	defer func() { b.places = places }()
	for range balanceServers {
		p, err := b.serve("--nats", natsURL, "--model", name)
		if err != nil {
			return err
		}
		defer p.end()
		servers = append(servers, p)
	}
	gateway, err := b.start("listening", "gateway", "--port", "0", "--log-format", "json", "--nats", natsURL, "--model",
		name)
	if err != nil {
		return err
	}
	defer gateway.end()

	var mu sync.Mutex
	var busy [balanceServers]int
	direct := func(body string) error {
		mu.Lock()
		at := 0
		for i := range busy {
			if busy[i] < busy[at] {
				at = i
			}
		}
		busy[at]++
		mu.Unlock()
		defer func() {
			mu.Lock()
			busy[at]--
			mu.Unlock()
		}()
		return succeeds(servers[at], body)
	}
	queued := func(body string) error { return succeeds(gateway, body) }

	for _, load := range balanceLoads {
		var durations [2][]time.Duration
		for round := range b.rounds + 1 {
			for way, do := range []func(string) error{direct, queued} {
				took, err := b.arrivals(load, uint64(round), do)
				if err != nil {
					return err
				}
				if round > 0 { // the first one is to warm up
					durations[way] = append(durations[way], took...)
				}
			}
		}
		show(fmt.Sprintf("20 ms at %.0f %% load, fewest connections", 100*load), durations[0])
		show(fmt.Sprintf("20 ms at %.0f %% load, queue", 100*load), durations[1])
	}
	return nil
}

// arrivals sends requests for a round, and returns how long each took. Those of the same load and seed arrive at the
// same times.
func (b *bench) arrivals(load float64, seed uint64, do func(body string) error) ([]time.Duration, error) {
	random := rand.New(rand.NewPCG(seed, 0))
	body := fmt.Sprintf(`{"input":{"sleep":%g}}`, balanceSleep.Seconds())
	rate := load * balanceServers * balancePlaces / balanceSleep.Seconds()
	var mu sync.Mutex
	var durations []time.Duration
	var failed atomic.Pointer[error]
	var sent sync.WaitGroup
	began := time.Now()
	for at := time.Duration(0); at < b.round &&
		failed.Load() == nil; at += time.Duration(random.ExpFloat64() / rate * float64(time.Second)) {
		time.Sleep(time.Until(began.Add(at)))
		sent.Go(func() {
			if err := do(body); err != nil {
				failed.Store(&err)
			}
			took := time.Since(began) - at
			mu.Lock()
			durations = append(durations, took)
			mu.Unlock()
		})
	}
	sent.Wait()
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return durations, nil
}

// succeeds sends a synchronous request.
func succeeds(to *process, body string) error {
	code, text, err := do(http.MethodPost, to.url+"/predictions", body)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%d %s", code, text)
	}
	return err
}
