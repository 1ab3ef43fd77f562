package server

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"pinion/runtime/jobqueue"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/metrics"
)

// modelQueue is a model's job queue as its versions share it: those that requests find, and those that leave and end
// their jobs. A model without versions is its only user.
type modelQueue struct {
	member    *jobqueue.Member
	server    *Server
	title     string        // the model's name in the queue
	ttl       time.Duration // of results
	metrics   *metrics.Set
	leaveNATS func() // follows when the queue is left

	mu      sync.Mutex
	users   []*servedModel
	drained []*servedModel // of them, those that take no more jobs
	loading context.CancelFunc
	left    sync.Once

	routing   sync.Mutex // held before mu while targets are replaced, and the versions that the member takes
	targets   []*target  // that jobs are given to
	rerouted  context.Context
	onReroute context.CancelFunc   // ends rerouted, when targets are replaced
	owed      map[*servedModel]int // by how much of a job in percent a target had less than its share
	wanted    chan struct{}        // a job's turn was that of a model that is not loaded
}

func newModelQueue(f *Server, title string, ttl time.Duration) *modelQueue {
	q := &modelQueue{server: f, title: title, ttl: ttl, wanted: make(chan struct{}, 1)}
	q.rerouted, q.onReroute = context.WithCancel(context.Background())
	return q
}

// log returns the log of the queue. m is the first that uses it.
func (q *modelQueue) log(m *servedModel) *slog.Logger {
	if q.server.several {
		return q.server.log.With("model", q.title)
	}
	return m.Log
}

// share lets another model use the queue; false means it is being left.
func (q *modelQueue) share(m *servedModel) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isDrained() {
		return false
	}
	q.users = append(q.users, m)
	return true
}

// all returns the users.
func (q *modelQueue) all() []*servedModel {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.users)
}

// route gives jobs to these models from now on, except those that are drained.
func (q *modelQueue) route(targets []*target) {
	q.routing.Lock()
	defer q.routing.Unlock()
	q.replaceTargets(targets)
}

// replaceTargets is called with routing held.
func (q *modelQueue) replaceTargets(targets []*target) {
	var versions []string
	owed := map[*servedModel]int{}
	q.mu.Lock()
	targets = slices.DeleteFunc(slices.Clone(targets), func(t *target) bool {
		return slices.Contains(q.drained, t.servedModel)
	})
	for _, t := range targets {
		owed[t.servedModel] = q.owed[t.servedModel]
		if t.version != "" {
			versions = append(versions, t.version)
		}
	}
	q.targets, q.owed = targets, owed
	q.onReroute()
	q.rerouted, q.onReroute = context.WithCancel(context.Background())
	q.mu.Unlock()
	q.member.TakeVersions(versions)
}

// drainFor gives a model no more jobs. With the last one the queue takes none.
func (q *modelQueue) drainFor(m *servedModel) {
	q.routing.Lock()
	defer q.routing.Unlock()
	q.mu.Lock()
	if !slices.Contains(q.drained, m) {
		q.drained = append(q.drained, m)
	}
	last, stopLoading, targets := q.isDrained(), q.loading, q.targets
	q.mu.Unlock()
	switch {
	case last:
		if stopLoading != nil {
			stopLoading()
		}
		q.member.Drain()
	case slices.ContainsFunc(targets, func(t *target) bool { return t.servedModel == m }):
		q.replaceTargets(targets)
	}
}

// isDrained reports whether the queue takes no more jobs. It is called with mu held.
func (q *modelQueue) isDrained() bool { return len(q.drained) == len(q.users) }

// leaveFor leaves the queue when no job of a model runs any more, and no other uses it. The webhooks that are stored
// there stay for other servers, or for the next start.
func (q *modelQueue) leaveFor(ctx context.Context, m *servedModel) {
	q.drainFor(m)
	q.mu.Lock()
	only := func(list []*servedModel) []*servedModel {
		return slices.DeleteFunc(list, func(other *servedModel) bool { return other == m })
	}
	if len(q.users) > 1 {
		q.users, q.drained = only(q.users), only(q.drained)
		q.mu.Unlock()
		return
	}
	q.mu.Unlock()
	q.left.Do(func() { q.disconnect(ctx, m) })
}

func (q *modelQueue) disconnect(ctx context.Context, m *servedModel) {
	ctx, cancel := context.WithTimeout(ctx, leaveWait)
	defer cancel()
	if err := q.member.Close(ctx); err != nil {
		m.Log.Warn("left the job queue too early", "error", err)
	}
	q.leaveNATS()
}

// leaveQueue leaves the job queue.
func (m *servedModel) leaveQueue(ctx context.Context) {
	if m.queue != nil {
		m.queue.leaveFor(ctx, m)
	}
}

func (q *modelQueue) jobs() *metrics.Jobs { return jobsOf(q.member) }

// schema implements jobqueue.Options.Schema. That of the model is the one of the version with the largest share.
func (q *modelQueue) schema(version string) (state.Schema, bool) {
	if t := q.find(version); t != nil {
		return t.schema()
	}
	return state.Schema{}, false
}

// slots implements jobqueue.Options.Slots.
func (q *modelQueue) slots() (slots, free int) {
	for _, t := range q.routed() {
		l := t.Pool.Load()
		slots += l.Slots
		free += max(0, l.Slots-l.InFlight)
	}
	return slots, free
}

// versions implements jobqueue.Options.Versions.
func (q *modelQueue) versions() (slots map[string]int) {
	for _, t := range q.routed() {
		if t.version == "" {
			continue
		}
		if slots == nil {
			slots = map[string]int{}
		}
		slots[t.version] = t.Pool.Load().Slots
	}
	return slots
}

// routed returns the models that jobs are given to.
func (q *modelQueue) routed() []*target {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.targets
}

// find returns what has a version of the model, or ("") what answers for the model: the largest share of it. nil means
// there is none.
func (q *modelQueue) find(version string) (found *target) {
	for _, t := range q.routed() {
		switch {
		case version != "" && t.version == version:
			return t
		case version == "" && (found == nil || t.share > found.share):
			found = t
		}
	}
	return found
}
