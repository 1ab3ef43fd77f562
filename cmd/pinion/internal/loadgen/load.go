package loadgen

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// Options says which requests are sent, and how.
type Options struct {
	URL         string // the address that predictions are posted to
	Body        []byte // JSON
	UserAgent   string
	Connections int           // default: 1
	Rate        float64       // requests a second; 0 means closed loop
	Warmup      time.Duration // of the same load before, which is not counted
	Length      time.Duration
	Stop        <-chan struct{} // when it is closed, no request begins any more; may be nil
}

// Result is what was measured.
type Result struct {
	Times     Histogram     // of those that succeeded
	Predicted time.Duration // of these, the time in the model, as the answers say
	InTime    uint64        // how many of these were answered within Length
	Length    time.Duration // less than asked for where Stop ended it
	Late      uint64        // open loop: were due while every connection waited for an answer
	Failures  map[string]uint64
}

// Rate returns successes a second.
func (r *Result) Rate() float64 {
	if r.Length <= 0 {
		return 0
	}
	return float64(r.InTime) / r.Length.Seconds()
}

// Failed returns how many requests have not succeeded.
func (r *Result) Failed() uint64 {
	var n uint64
	for _, count := range r.Failures {
		n += count
	}
	return n
}

// Run sends the requests, and returns when the last one was answered.
func Run(o Options) *Result {
	o.Connections = max(o.Connections, 1)
	g := &generator{Options: o, client: &fasthttp.Client{
		Name: o.UserAgent, MaxConnsPerHost: o.Connections, MaxIdemponentCallAttempts: 1, DisablePathNormalizing: true,
	}}
	defer g.client.CloseIdleConnections()
	if o.Warmup > 0 {
		g.part(o.Warmup)
	}
	return g.part(o.Length)
}

// Once sends one request, and returns the answer's status and body.
func Once(o Options) (int, []byte, error) {
	g := &generator{Options: o, client: &fasthttp.Client{Name: o.UserAgent, MaxIdemponentCallAttempts: 1}}
	defer g.client.CloseIdleConnections()
	request, response := g.prepare()
	if err := g.client.Do(request, response); err != nil {
		return 0, nil, fmt.Errorf("ask %s: %w", o.URL, err)
	}
	return response.StatusCode(), response.Body(), nil
}

type generator struct {
	Options
	client *fasthttp.Client
}

// part runs the load for a while, on the connections that there are.
func (g *generator) part(length time.Duration) *Result {
	p := &part{generator: g, begin: time.Now(), total: &Result{Failures: map[string]uint64{}}}
	p.end = p.begin.Add(length)
	var wg sync.WaitGroup
	for range g.Connections {
		wg.Go(p.connection)
	}
	wg.Wait()
	p.total.Length = min(length, time.Since(p.begin))
	return p.total
}

type part struct {
	*generator
	begin, end time.Time
	next       atomic.Int64 // open loop: the number of the next request

	mu    sync.Mutex
	total *Result
}

// pause is the time after a failed connection until the next: a server that is gone need not be asked a million times.
const pause = 10 * time.Millisecond

// connection sends requests on one connection until the end.
func (p *part) connection() {
	own := &Result{Failures: map[string]uint64{}}
	request, response := p.prepare()
	for {
		from, ok := p.claimStart(own)
		if !ok {
			break
		}
		err := p.client.Do(request, response)
		ended := time.Now()
		predicted, failure := classify(response, err)
		if failure != "" {
			own.Failures[failure]++
			if err != nil {
				p.sleep(pause)
			}
			continue
		}
		own.Times.Add(ended.Sub(from))
		own.Predicted += predicted
		if !ended.After(p.end) {
			own.InTime++
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total.add(own)
}

// claimStart waits until a connection may send its next request, and returns when that was due; false means that it
// sends no more.
func (p *part) claimStart(own *Result) (time.Time, bool) {
	now := time.Now()
	if p.Rate == 0 {
		return now, now.Before(p.end) && p.sleep(0)
	}
	due := p.begin.Add(time.Duration(float64(p.next.Add(1)-1) / p.Rate * float64(time.Second)))
	if !due.Before(p.end) {
		return now, false
	}
	if now.After(due) {
		own.Late++
		return due, p.sleep(0)
	}
	ok := p.sleep(due.Sub(now))
	return time.Now(), ok
}

// sleep waits for d, and returns false if Stop ended the wait or was closed before.
func (p *part) sleep(d time.Duration) bool {
	select {
	case <-p.Stop:
		return false
	default:
	}
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.Stop:
		return false
	case <-timer.C:
		return true
	}
}

func (r *Result) add(own *Result) {
	r.Times.Merge(&own.Times)
	r.Predicted += own.Predicted
	r.InTime += own.InTime
	r.Late += own.Late
	for failure, n := range own.Failures {
		r.Failures[failure] += n
	}
}
