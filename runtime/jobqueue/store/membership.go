package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// ServerStatus is what a server publishes every 5 s, for operators. No request is routed by it.
type ServerStatus struct {
	Slots    int    `json:"slots"`   // jobs that run here or could
	Free     int    `json:"free"`    // of them, those that could begin now
	Running  int    `json:"running"` // jobs of the queue that run here
	Draining bool   `json:"draining"`
	Gone     bool   `json:"gone,omitempty"` // the server has left
	Version  string `json:"version"`
	// Versions are the versions of the model that this server has, and how many of its slots each has; nil means it has
	// none.
	Versions map[string]int `json:"versions,omitempty"`
}

const (
	statusInterval = 5 * time.Second
	// statusTTL is how long a status counts: two in a row may be lost.
	statusTTL = 3 * statusInterval
)

// membership is the servers of the model, by their last status.
type membership struct {
	mu      sync.Mutex
	servers map[string]serverStatus
}

type serverStatus struct {
	ServerStatus
	at time.Time
}

func (m *membership) update(server string, status ServerStatus, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.servers == nil {
		m.servers = map[string]serverStatus{}
	}
	m.servers[server] = serverStatus{status, now}
	for name, s := range m.servers {
		if s.Gone || now.Sub(s.at) > statusTTL {
			delete(m.servers, name)
		}
	}
}

// live returns the servers from which a status came lately.
func (m *membership) live(now time.Time) (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, s := range m.servers {
		if now.Sub(s.at) <= statusTTL {
			names = append(names, name)
		}
	}
	return names
}

// totals counts the live servers that take jobs, and the jobs that run on all.
func (m *membership) totals(now time.Time) (servers, running int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.servers {
		if now.Sub(s.at) <= statusTTL {
			running += s.Running
			if !s.Draining {
				servers++
			}
		}
	}
	return servers, running
}

func (q *Queue) statusSubject(server string) string {
	return "pinion.load." + q.o.Model + "." + server
}

// watchMembership subscribes to the status of all servers.
func (q *Queue) watchMembership() (*nats.Subscription, error) {
	return q.nc.Subscribe(q.statusSubject("*"), func(m *nats.Msg) {
		var status ServerStatus
		if json.Unmarshal(m.Data, &status) == nil {
			q.members.update(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], status, time.Now())
		}
	})
}

// PublishStatus publishes the status of this server.
func (q *Queue) PublishStatus(s ServerStatus) {
	if text, err := json.Marshal(&s); err == nil { // it cannot fail
		_ = q.nc.Publish(q.statusSubject(token(q.o.Server)), text) // the next one may get through
	}
}

// PublishStatusUntil publishes a status every 5 s until ctx ends, and then that this server has left.
func (q *Queue) PublishStatusUntil(ctx context.Context, status func() ServerStatus) {
	for pause(ctx, statusInterval) == nil {
		q.PublishStatus(status())
	}
	last := status()
	last.Gone = true
	q.PublishStatus(last)
}

// NamedStatus is the status of a server.
type NamedStatus struct {
	Name string
	ServerStatus
}

// Servers returns the live servers, by name.
func (q *Queue) Servers() (servers []NamedStatus) {
	q.members.mu.Lock()
	defer q.members.mu.Unlock()
	now := time.Now()
	for name, s := range q.members.servers {
		if now.Sub(s.at) <= statusTTL && !s.Gone {
			servers = append(servers, NamedStatus{name, s.ServerStatus})
		}
	}
	slices.SortFunc(servers, func(a, b NamedStatus) int { return strings.Compare(a.Name, b.Name) })
	return servers
}

// Fleet counts the live servers that take jobs, and the jobs that run there.
func (q *Queue) Fleet() (servers, running int) { return q.members.totals(time.Now()) }

// Stats counts what happened to jobs in this process.
type Stats struct {
	Redelivered uint64 // jobs that this server took because their server was lost
	Dead        uint64 // jobs that it made dead letters
	Fenced      uint64 // runs whose job another server had taken
}

// counters are the counters of Stats.
type counters struct{ redelivered, dead, fenced atomic.Uint64 }

// Stats returns the counts since the start.
func (q *Queue) Stats() Stats {
	return Stats{q.counters.redelivered.Load(), q.counters.dead.Load(), q.counters.fenced.Load()}
}
