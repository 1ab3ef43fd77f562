package server

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"pinion/runtime/jobqueue"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// allJobs is the share of all versions together.
const allJobs = 100

var _ jobqueue.Local = (*modelQueue)(nil)

// jobTurns says which version gets the next job that names none. Each gets its share, as requests over HTTP do. But
// jobs wait where requests do not: if no slot of that version is free, the one with the largest share may have the job,
// so that a slow version does not hold up the others. It is made up for later, by a job at most.
type jobTurns struct {
	targets  []*target
	eligible []bool
	free     []int
	owed     []int // by how much of a job in percent each had less than its share
}

// turns looks at the targets. It is called with mu held.
func (q *modelQueue) turns() *jobTurns {
	t := &jobTurns{targets: q.targets}
	for _, target := range q.targets {
		t.eligible = append(t.eligible, target.share > 0 && target.runsJobs())
		t.free = append(t.free, target.free())
		t.owed = append(t.owed, q.owed[target.servedModel])
	}
	return t
}

// next returns the version that may begin a job now; -1 means none may. blocking are those with no free slot that
// could.
func (t *jobTurns) next() (next int, blocking []int) {
	turn, largest := -1, -1
	for i, target := range t.targets {
		if !t.eligible[i] {
			continue
		}
		if turn < 0 || t.owed[i]+target.share > t.owed[turn]+t.targets[turn].share {
			turn = i
		}
		if largest < 0 || target.share > t.targets[largest].share {
			largest = i
		}
	}
	switch {
	case turn < 0:
		return -1, nil
	case t.free[turn] > 0:
		return turn, nil
	case t.free[largest] > 0:
		return largest, nil
	}
	return -1, slices.Compact([]int{turn, largest})
}

// give gives a job to a version.
func (t *jobTurns) give(to int) {
	total := 0
	for i, target := range t.targets {
		if t.eligible[i] {
			t.owed[i] += target.share
			total += target.share
		}
	}
	t.owed[to] -= total
	t.free[to]--
	for i := range t.owed {
		t.owed[i] = min(max(t.owed[i], -allJobs), allJobs)
	}
}

// maxAtOnce is how many jobs are taken at once at most.
const maxAtOnce = 32

// capacity returns how many jobs could begin now, and what it waits for where none could.
func (q *modelQueue) capacity(version string) (n int, blocking []*target, rerouted context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case version != "":
		for _, t := range q.targets {
			if t.version == version {
				return t.free(), []*target{t}, q.rerouted
			}
		}
		return 0, nil, q.rerouted
	case len(q.targets) == 1:
		return q.targets[0].free(), q.targets, q.rerouted
	}
	t := q.turns()
	for n < maxAtOnce {
		next, full := t.next()
		if next < 0 {
			for i, target := range t.targets {
				if target.share > 0 && (!t.eligible[i] || slices.Contains(full, i)) {
					blocking = append(blocking, target)
				}
			}
			break
		}
		t.give(next)
		n++
	}
	return n, blocking, q.rerouted
}

// AwaitCapacity implements jobqueue.Local.
func (q *modelQueue) AwaitCapacity(ctx context.Context, version string) int {
	for {
		n, blocking, rerouted := q.capacity(version)
		if ctx.Err() != nil {
			return 0
		}
		if n > 0 {
			return n
		}
		waiting, stop := context.WithCancel(ctx)
		unhook := context.AfterFunc(rerouted, stop)
		var wg sync.WaitGroup
		for i, t := range blocking {
			if i > 0 {
				wg.Go(func() { t.awaitFree(waiting); stop() })
			}
		}
		if len(blocking) > 0 {
			blocking[0].awaitFree(waiting)
			stop()
		}
		<-waiting.Done()
		wg.Wait()
		unhook()
		stop()
	}
}

// AcquireSlot implements jobqueue.Local.
func (q *modelQueue) AcquireSlot(version string) jobqueue.Slot {
	q.mu.Lock()
	defer q.mu.Unlock()
	if version != "" || len(q.targets) == 1 {
		for _, t := range q.targets {
			if t.version == version || version == "" {
				if t.Service.AcquireSlot() {
					return t
				}
			}
		}
		return nil
	}
	t := q.turns()
	next, _ := t.next()
	if next < 0 || !t.targets[next].Service.AcquireSlot() {
		return nil
	}
	t.give(next)
	for i, target := range t.targets {
		if target.share > 0 && !t.eligible[i] { // its share is served by others, and that may load it
			t.owed[i] = min(t.owed[i]+target.share, allJobs)
			if t.owed[i] == allJobs && target.Lifecycle.AcceptsOnDemand() {
				q.wantLoad()
			}
		}
		q.owed[target.servedModel] = t.owed[i]
	}
	return t.targets[next]
}

// wantLoad says that a job's turn was that of a model that is not loaded.
func (q *modelQueue) wantLoad() {
	select {
	case q.wanted <- struct{}{}:
	default:
	}
}

// MeanDuration implements jobqueue.Local: the longest of those that get such jobs.
func (q *modelQueue) MeanDuration(version string) (longest time.Duration) {
	for _, t := range q.routed() {
		if version == "" && t.share == 0 || version != "" && t.version != version {
			continue
		}
		mean := t.Service.MeanDuration()
		if mean == 0 && t.runsJobs() {
			return 0
		}
		longest = max(longest, mean)
	}
	return longest
}

// Check implements jobqueue.Local: by the version that the request names, or else by the one with the largest share.
func (q *modelQueue) Check(req *predict.Request, most int) (input []byte, warnings []string, err error) {
	var first error
	for _, t := range q.byShare(req.Version) {
		var notReady *predict.NotReadyError
		input, warnings, err = t.checkJob(req, most)
		if !errors.As(err, &notReady) {
			return input, warnings, err
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = &predict.NotReadyError{Reason: "The model is not served now"}
	}
	return nil, nil, first
}

// byShare returns the targets that such jobs go to, the one with the largest share first.
func (q *modelQueue) byShare(version string) (targets []*target) {
	for _, t := range q.routed() {
		if version == "" && t.share > 0 || version != "" && t.version == version {
			targets = append(targets, t)
		}
	}
	slices.SortStableFunc(targets, func(a, b *target) int { return b.share - a.share })
	return targets
}

// NewAttachments implements jobqueue.Local. The folder is the server's.
func (q *modelQueue) NewAttachments() request.Attachments { return q.all()[0].Service.NewAttachments() }

// Find implements jobqueue.Local, as do the next two methods: also what leaves and ends its predictions is asked.
func (q *modelQueue) Find(kind predict.Kind, id string) *predict.Prediction {
	for _, m := range q.all() {
		if p := m.Service.Find(kind, id); p != nil {
			return p
		}
	}
	return nil
}

// Result returns the prediction with that id as clients see it.
func (q *modelQueue) Result(kind predict.Kind, id string) (*predict.Prediction, predict.Record, bool) {
	for _, m := range q.all() {
		if p, rec, ok := m.Service.Result(kind, id); ok {
			return p, rec, ok
		}
	}
	return nil, predict.Record{}, false
}

// Cancel cancels the prediction with that id.
func (q *modelQueue) Cancel(kind predict.Kind, id string) bool {
	return slices.ContainsFunc(q.all(), func(m *servedModel) bool { return m.Service.Cancel(kind, id) })
}
