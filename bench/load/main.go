package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// load is the request, the server, and the rate of requests.
type load struct {
	client      *fasthttp.HostClient
	url         string
	body        []byte
	expect      []byte
	connections int
	rate        float64 // requests a second; 0 means a closed loop
	length      time.Duration
	drainLimit  time.Duration // how long after that what was due may still be sent
}

// tally is the result, of one connection and then of all.
type tally struct {
	times                  []time.Duration
	refused, wrong, failed int
}

func main() {
	l := load{client: &fasthttp.HostClient{MaxIdemponentCallAttempts: 1}}
	var file, expect string
	var seconds float64
	flag.StringVar(&l.client.Addr, "address", "127.0.0.1:5000", "the server's address")
	flag.StringVar(&l.url, "path", "/predictions", "path")
	flag.StringVar(&file, "body", "", "a file with the body to post")
	flag.StringVar(&expect, "expect", "", "text that each answer must have in it")
	flag.IntVar(&l.connections, "connections", 64, "most connections")
	flag.Float64Var(&l.rate, "rate", 0, "requests a second, by the clock; 0: each connection asks when it was answered")
	flag.Float64Var(&seconds, "seconds", 2, "how long")
	flag.Parse()
	body, err := os.ReadFile(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
	l.body, l.expect, l.url = body, []byte(expect), "http://"+l.client.Addr+l.url
	l.client.MaxConns = l.connections
	l.length = time.Duration(seconds * float64(time.Second))
	l.drainLimit = l.length
	begin := time.Now()
	total := l.run(begin)
	if err := report(total, time.Since(begin)); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// run sends requests on every connection until the time is up. Requests that were due by then and could not be sent
// soon after are given up: the count of answers shows that the server did not keep up.
func (l *load) run(begin time.Time) *tally {
	schedule := make(chan time.Time, int(l.rate*l.length.Seconds())+1)
	if l.rate > 0 {
		go l.tick(begin, schedule)
	}
	var group sync.WaitGroup
	parts := make([]tally, l.connections)
	for i := range parts {
		group.Go(func() { l.connection(begin, schedule, &parts[i]) })
	}
	group.Wait()
	total := &tally{}
	for _, part := range parts {
		total.times = append(total.times, part.times...)
		total.refused += part.refused
		total.wrong += part.wrong
		total.failed += part.failed
	}
	return total
}

// tick sends the times at which requests are due. Go's own timers would be up to a millisecond late on an idle machine,
// because they end with the poller's wait; a thread's sleep is not.
func (l *load) tick(begin time.Time, schedule chan<- time.Time) {
	defer close(schedule)
	runtime.LockOSThread()
	for n := range cap(schedule) {
		due := begin.Add(time.Duration(float64(n) / l.rate * float64(time.Second)))
		if due.Sub(begin) >= l.length {
			return
		}
		for wait := time.Until(due); wait > 0; wait = time.Until(due) { // a signal may end a sleep
			spec := syscall.NsecToTimespec(int64(wait))
			_ = syscall.Nanosleep(&spec, nil)
		}
		schedule <- due
	}
}

// connection sends requests, one after the other.
func (l *load) connection(begin time.Time, schedule <-chan time.Time, t *tally) {
	if l.rate == 0 {
		for time.Since(begin) < l.length {
			l.ask(t, time.Now())
		}
		return
	}
	for due := range schedule {
		if time.Since(begin) >= l.length+l.drainLimit {
			return
		}
		l.ask(t, due)
	}
}

// ask sends one request.
func (l *load) ask(t *tally, due time.Time) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.Header.SetMethod(fasthttp.MethodPost)
	request.Header.SetContentType("application/json")
	request.SetRequestURI(l.url)
	request.SetBodyRaw(l.body)
	err := l.client.DoTimeout(request, response, time.Minute)
	took := time.Since(due)
	switch {
	case err != nil:
		t.failed++
	case slices.Contains([]int{409, 429, 503}, response.StatusCode()):
		t.refused++
	case response.StatusCode() != fasthttp.StatusOK || !bytes.Contains(response.Body(), l.expect):
		t.wrong++
	default:
		t.times = append(t.times, took)
	}
}

// report prints microseconds, rates by the second, and counts.
func report(t *tally, took time.Duration) error {
	slices.Sort(t.times)
	at := func(part float64) float64 {
		if len(t.times) == 0 {
			return 0
		}
		index := int(math.Ceil(part*float64(len(t.times)))) - 1
		return float64(t.times[max(0, index)]) / float64(time.Microsecond)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"rate": float64(len(t.times)) / took.Seconds(), "ok": float64(len(t.times)), "refused": float64(t.refused),
		"wrong": float64(t.wrong), "errors": float64(t.failed),
		"p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": at(1),
	})
}
