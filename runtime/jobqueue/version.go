package jobqueue

import (
	"context"
	"slices"
	"strings"

	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// A queue is a model's. Of a job that names no version, the server that takes it chooses one; a job that names a
// version goes to a server that has it. Ids are the model's own, whichever version runs them.

// Version is the queue for requests that name a version of the model. Its other methods are the Member's.
type Version struct {
	*Member
	Name string
}

// Accept is Member.Accept for the version.
func (v Version) Accept(s request.Submission) (request.Accepted, error) {
	s.Request.Version = v.Name
	return v.Member.Accept(s)
}

// Submit is Member.Submit for the version.
func (v Version) Submit(s request.Submission, outlivesMember bool) (*predict.Prediction, error) {
	s.Request.Version = v.Name
	return v.Member.Submit(s, outlivesMember)
}

// checkVersion refuses a request of a gateway for a version that no server has, if there are servers.
func (m *Member) checkVersion(version string) error {
	q := m.queue.Load()
	if version == "" || m.o.Local != nil || q == nil {
		return nil
	}
	var have []string
	servers := q.Live.Servers()
	for _, s := range servers {
		if _, ok := s.Versions[version]; ok && !s.Draining {
			return nil
		}
		for name := range s.Versions {
			if name = m.o.Queue.Title + "@" + name; !slices.Contains(have, name) {
				have = append(have, name)
			}
		}
	}
	if len(servers) == 0 { // it waits for one
		return nil
	}
	reason := "No server has " + m.o.Queue.Title + "@" + version + " now"
	if len(have) > 0 {
		slices.Sort(have)
		reason += "; the servers have " + strings.Join(have, ", ")
	}
	return &predict.NotReadyError{Reason: reason, RetryAfter: retryAfterFull}
}

// TakeVersions makes this server take the jobs that name these versions of the model, and no jobs that name others.
func (m *Member) TakeVersions(names []string) {
	m.mu.Lock()
	for name, stop := range m.taken {
		if !slices.Contains(names, name) {
			stop()
			delete(m.taken, name)
		}
	}
	for _, name := range names {
		if m.taken[name] == nil {
			if m.taken == nil {
				m.taken = map[string]context.CancelFunc{}
			}
			ctx, stop := context.WithCancel(m.pulling)
			m.taken[name] = stop
			m.takers = append(m.takers, func() {
				m.retryLoop(ctx, func() error { return m.server.Run(ctx, name) })
			})
		}
	}
	m.beginTakers()
	m.mu.Unlock()
	m.publishStatus()
}

// beginTakers begins to take the jobs of versions, once there is a server. It is called with mu held.
func (m *Member) beginTakers() {
	if m.server == nil || m.pulling.Err() != nil {
		return
	}
	for _, take := range m.takers {
		m.taking.Go(take)
	}
	m.takers = nil
}

// awaitTakers waits until no jobs of versions are taken any more, once pulling has ended.
func (m *Member) awaitTakers() {
	m.mu.Lock() // beginTakers adds none from here on
	m.takers = nil
	m.mu.Unlock()
	m.taking.Wait()
}
