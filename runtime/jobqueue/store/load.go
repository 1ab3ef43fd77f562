package store

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Load is what a server says of itself every 5 s, for those who look on. No request is routed by it.
type Load struct {
	Slots    int    `json:"slots"`   // jobs that run here or could
	Free     int    `json:"free"`    // of them, those that could begin now
	Running  int    `json:"running"` // jobs of the queue that run here
	Draining bool   `json:"draining"`
	Gone     bool   `json:"gone,omitempty"` // it says no more
	Version  string `json:"version"`
}

const (
	loadEvery = 5 * time.Second
	// loadFor is how long a server counts that was not heard: two of its signs may be lost.
	loadFor = 3 * loadEvery
)

// loads are the servers of the model, as they were heard last.
type loads struct {
	mu sync.Mutex
	by map[string]heard
}

type heard struct {
	Load
	at time.Time
}

func (l *loads) hear(server string, load Load, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[string]heard{}
	}
	l.by[server] = heard{load, now}
	for name, one := range l.by {
		if one.Gone || now.Sub(one.at) > loadFor {
			delete(l.by, name)
		}
	}
}

// names are the servers that were heard lately.
func (l *loads) names(now time.Time) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, one := range l.by {
		if now.Sub(one.at) <= loadFor {
			all = append(all, name)
		}
	}
	return all
}

// sum is how many servers that take jobs were heard lately, and how many jobs run on all.
func (l *loads) sum(now time.Time) (servers, running int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.by {
		if now.Sub(one.at) <= loadFor {
			running += one.Running
			if !one.Draining {
				servers++
			}
		}
	}
	return servers, running
}

func (q *Queue) loadSubject(server string) string {
	return "pinion.load." + q.o.Model + "." + server
}

// hearLoads listens to the servers of the model.
func (q *Queue) hearLoads() (*nats.Subscription, error) {
	return q.nc.Subscribe(q.loadSubject("*"), func(m *nats.Msg) {
		var load Load
		if json.Unmarshal(m.Data, &load) == nil {
			q.loads.hear(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], load, time.Now())
		}
	})
}

// Say says what this server has to say of itself.
func (q *Queue) Say(l Load) {
	if text, err := json.Marshal(&l); err == nil { // it cannot fail
		_ = q.nc.Publish(q.loadSubject(token(q.o.Server)), text) // the next one may get through
	}
}

// SayLoad says every 5 s what load returns, until ctx ends. What it says last is that this server is gone.
func (q *Queue) SayLoad(ctx context.Context, load func() Load) {
	for pause(ctx, loadEvery) == nil {
		q.Say(load())
	}
	l := load()
	l.Gone = true
	q.Say(l)
}

// Fleet is how many servers that take jobs were heard lately, and how many jobs run there.
func (q *Queue) Fleet() (servers, running int) { return q.loads.sum(time.Now()) }

// Tally counts what happened to jobs in this process.
type Tally struct {
	Redelivered uint64 // jobs that this server took because their server was lost
	Dead        uint64 // jobs that it made dead letters
	Fenced      uint64 // runs whose job another server had taken
}

// tally is Tally while it grows.
type tally struct{ redelivered, dead, fenced atomic.Uint64 }

// Tally counts since the start.
func (q *Queue) Tally() Tally {
	return Tally{q.tally.redelivered.Load(), q.tally.dead.Load(), q.tally.fenced.Load()}
}
