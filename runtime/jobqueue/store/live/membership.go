package live

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store/state"
)

// Live is what the members of a queue tell each other, by messages that are not stored.
type Live struct {
	State   *state.Store
	Members Membership

	Mu         sync.Mutex
	Connected  time.Time // when this member was seen to have connected
	Reconnects uint64    // by then
}

// New returns what a member tells and hears.
func New(s *state.Store) *Live {
	return &Live{State: s, Connected: time.Now(), Reconnects: s.NC.Stats().Reconnects}
}

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

// Membership is the servers of the model, by their last status.
type Membership struct {
	mu      sync.Mutex
	servers map[string]serverStatus
}

type serverStatus struct {
	ServerStatus
	at time.Time
}

func (m *Membership) update(server string, status ServerStatus, now time.Time) {
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

// Live returns the servers from which a status came lately.
func (m *Membership) Live(now time.Time) (names []string) {
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
func (m *Membership) totals(now time.Time) (servers, running int) {
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

func (q *Live) statusSubject(server string) string {
	return "pinion.load." + q.State.Options.Model + "." + server
}

// watchMembership subscribes to the status of all servers.
func (q *Live) watchMembership() (*nats.Subscription, error) {
	return q.State.NC.Subscribe(q.statusSubject("*"), func(m *nats.Msg) {
		var status ServerStatus
		if json.Unmarshal(m.Data, &status) == nil {
			q.Members.update(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], status, time.Now())
		}
	})
}

// PublishStatus publishes the status of this server.
func (q *Live) PublishStatus(s ServerStatus) {
	if text, err := json.Marshal(&s); err == nil { // it cannot fail
		_ = q.State.NC.Publish(q.statusSubject(state.Token(q.State.Options.Server)), text) // the next one may get through
	}
}

// PublishStatusUntil publishes a status every 5 s until ctx ends, and then that this server has left.
func (q *Live) PublishStatusUntil(ctx context.Context, status func() ServerStatus) {
	for state.Pause(ctx, statusInterval) == nil {
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
func (q *Live) Servers() (servers []NamedStatus) {
	q.Members.mu.Lock()
	defer q.Members.mu.Unlock()
	now := time.Now()
	for name, s := range q.Members.servers {
		if now.Sub(s.at) <= statusTTL && !s.Gone {
			servers = append(servers, NamedStatus{name, s.ServerStatus})
		}
	}
	slices.SortFunc(servers, func(a, b NamedStatus) int { return strings.Compare(a.Name, b.Name) })
	return servers
}

// Fleet counts the live servers that take jobs, and the jobs that run there.
func (q *Live) Fleet() (servers, running int) { return q.Members.totals(time.Now()) }

// ReconnectGrace returns how long this server must wait before it may take over a job of another server.
func (q *Live) ReconnectGrace() time.Duration {
	if q.State.Options.Host != nil {
		return 0
	}
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if n := q.State.NC.Stats().Reconnects; n != q.Reconnects {
		q.Reconnects, q.Connected = n, time.Now()
	}
	return time.Until(q.Connected.Add(GraceAfterConnect))
}

// OwnerAlive asks the owner of a job whether it has it. An owner that does not answer in time has lost it.
func (q *Live) OwnerAlive(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, OwnerTimeout)
	defer cancel()
	_, err := q.State.NC.RequestWithContext(ctx, q.State.Names.About("held", id), nil)
	return err == nil
}

// GraceAfterConnect is how long after this server has connected the owner of a job may still reconnect: one that
// was cut off together with it has lost nothing.
const GraceAfterConnect = 10 * time.Second

// OwnerTimeout is how long the owner of a job may take to answer.
const OwnerTimeout = 2 * time.Second
