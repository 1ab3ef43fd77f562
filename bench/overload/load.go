package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// load sends requests. The time that it spends itself is measured with the server's, so it spends little: connections
// and requests are reused, and no garbage is collected meanwhile.
type load struct {
	client  *fasthttp.HostClient
	url     string
	request *fasthttp.Request // a prediction's, copied for each
}

func newLoad(s setting) *load {
	l := &load{
		client:  &fasthttp.HostClient{Addr: s.address, MaxConns: 1 << 14, RetryIfErr: never},
		url:     "http://" + s.address,
		request: &fasthttp.Request{},
	}
	l.request.SetRequestURI(l.url + "/predictions")
	l.request.Header.SetMethod(fasthttp.MethodPost)
	l.request.Header.SetContentType("application/json")
	l.request.SetBodyRaw(fmt.Appendf(nil, `{"input":{"seconds":%g}}`, s.predictTime.Seconds()))
	return l
}

// never disables retries: failures are to be counted.
func never(*fasthttp.Request, int, error) (resetTimeout, retry bool) { return false, false }

// ready waits until every worker is ready.
func (l *load) ready() error {
	ctx, giveUp := context.WithTimeout(context.Background(), time.Minute)
	defer giveUp()
	for {
		if l.allReady() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the workers: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (l *load) allReady() bool {
	status, body, err := l.client.Get(nil, l.url+"/health-check")
	if err != nil || status != fasthttp.StatusOK {
		return false
	}
	var health struct {
		Workers []struct{ State string }
	}
	if json.Unmarshal(body, &health) != nil || len(health.Workers) == 0 {
		return false
	}
	for _, w := range health.Workers {
		if w.State != "ready" {
			return false
		}
	}
	return true
}

// ask sends one request. Answers that come after the end of the part do not count for its rate.
func (l *load) ask(t *tally, end time.Time) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	l.request.CopyTo(request)
	begin := time.Now()
	err := l.client.Do(request, response)
	took := time.Since(begin)
	status := response.StatusCode()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	switch {
	case err != nil || status != fasthttp.StatusOK && status != fasthttp.StatusTooManyRequests:
		t.failed++
	case status == fasthttp.StatusTooManyRequests:
		t.refused = append(t.refused, took)
	case begin.Add(took).Before(end):
		t.accepted = append(t.accepted, took)
	}
}

// closed makes n clients send requests, each after its last answer.
func (l *load) closed(n int, length time.Duration) *tally {
	t := &tally{length: length}
	end := time.Now().Add(length)
	var clients sync.WaitGroup
	for range n {
		clients.Go(func() {
			for time.Now().Before(end) {
				l.ask(t, end)
			}
		})
	}
	clients.Wait()
	return t
}

// open sends rate requests a second by the clock.
func (l *load) open(rate float64, length time.Duration) *tally {
	t := &tally{length: length}
	begin := time.Now()
	end := begin.Add(length)
	var requests sync.WaitGroup
	for n := 0; ; n++ {
		due := begin.Add(time.Duration(float64(n) / rate * float64(time.Second)))
		if due.After(end) {
			break
		}
		time.Sleep(time.Until(due))
		requests.Go(func() { l.ask(t, end) })
	}
	requests.Wait()
	return t
}
