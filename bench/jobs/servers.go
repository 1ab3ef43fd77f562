package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// fleet is a NATS of one or several servers, which store everything together, with two servers of Pinion and a gateway.
type fleet struct {
	name    string
	url     string
	js      jetstream.JetStream
	rates   system
	closed  []float64       // jobs a second of clients that wait
	alone   []time.Duration // of a job of one such client
	gateway *process
}

// startFleet starts a fleet; its ports begin at port.
func (b *bench) startFleet(servers, port int) (f *fleet, end func(), err error) {
	f = &fleet{name: fmt.Sprintf("%d of NATS", servers)}
	var started []*process
	end = func() {
		for i := range started {
			started[len(started)-1-i].end()
		}
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	var urls []string
	var routes []int
	for i := range servers {
		routes = append(routes, port+servers+i)
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", port+i))
	}
	for i := range servers {
		s := natsServer{Name: fmt.Sprint("n", i), Dir: filepath.Join(b.dir, fmt.Sprint(port+i)), Port: port + i}
		if servers > 1 {
			s.Cluster, s.Routes = routes[i], routes
		}
		p, err := s.start()
		if err != nil {
			return nil, end, err
		}
		started = append(started, p)
	}
	f.url = strings.Join(urls, ",")
	nc, err := nats.Connect(f.url, nats.MaxReconnects(-1))
	if err != nil {
		return nil, end, err
	}
	if f.js, err = jetstream.New(nc); err != nil {
		return nil, end, err
	}
	if err := awaitMeta(f.js); err != nil {
		return nil, end, err
	}
	queue := []string{"--jobs-capacity", strconv.Itoa(queueCapacity), "--nats-replicas", strconv.Itoa(servers)}
	f.rates = system{name: f.name, model: "m"}
	for range 2 {
		p, err := b.serve(append(queue, "--nats", f.url, "--model", "m")...)
		if err != nil {
			return nil, end, err
		}
		started = append(started, p)
		f.rates.fronts = append(f.rates.fronts, p)
	}
	if f.gateway, err = b.gateway(f.url, "m", queue...); err != nil {
		return nil, end, err
	}
	started = append(started, f.gateway)
	return f, end, nil
}

// awaitMeta waits until the servers of NATS have found each other.
func awaitMeta(js jetstream.JetStream) (err error) {
	for range 600 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err = js.AccountInfo(ctx)
		cancel()
		if err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// wait is a job of a client that waits for it at the gateway.
func (f *fleet) wait() error {
	code, text, err := do(http.MethodPost, f.gateway.url+"/predictions", nothing)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%d %s", code, text)
	}
	return err
}

// roundOf measures a fleet once.
func (b *bench) roundOf(f *fleet) error {
	if err := b.ratesOf(&f.rates, f.js); err != nil {
		return err
	}
	rate, err := b.rate(f.wait)
	if err != nil {
		return err
	}
	f.closed = append(f.closed, rate)
	loop := *b
	loop.clients = 1
	var mu sync.Mutex
	_, err = loop.rate(func() error {
		began := time.Now()
		err := f.wait()
		mu.Lock()
		defer mu.Unlock()
		f.alone = append(f.alone, time.Since(began))
		return err
	})
	return err
}

// beside measures a fleet with several servers of NATS beside one with one. Rounds of both take turns.
func (b *bench) beside(servers int) error {
	var fleets []*fleet
	for i, n := range []int{1, servers} {
		f, end, err := b.startFleet(n, natsPort+10*i)
		if err != nil {
			return err
		}
		defer end()
		fleets = append(fleets, f)
	}
	one, several := fleets[0], fleets[1]
	for round := range b.rounds + 1 {
		order := []*fleet{one, several}
		if round%2 == 1 {
			order = []*fleet{several, one}
		}
		for _, f := range order {
			if err := b.roundOf(f); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			if round == 0 { // to warm up
				f.rates.accepts, f.rates.ends, f.closed, f.alone = nil, nil, nil, nil
			}
		}
	}
	for _, f := range fleets {
		show(f.name+", one client that waits", f.alone)
	}
	for _, m := range []struct {
		what         string
		one, several []float64
	}{
		{"accepted", one.rates.accepts, several.rates.accepts},
		{"finished", one.rates.ends, several.rates.ends},
		{"jobs of clients that wait", one.closed, several.closed},
	} {
		var ratios []float64
		for i := range b.rounds {
			ratios = append(ratios, m.several[i]/m.one[i])
		}
		fmt.Printf("%-44s %.2f of one server's %.0f/s (%.2f to %.2f)\n", m.what+" with "+several.name, median(ratios),
			median(m.one), ratios[0], ratios[len(ratios)-1])
	}
	return nil
}
