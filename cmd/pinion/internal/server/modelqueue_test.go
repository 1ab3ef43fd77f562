package server

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"

	"pinion/cmd/pinion/internal/config"
	"pinion/runtime/jobqueue"
	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// loadedByJobs makes a queue, which no NATS answers, and models that share it and that jobs load.
func loadedByJobs(t *testing.T, models int) (*modelQueue, []*servedModel) {
	t.Helper()
	closed := assert.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	closed.Close()
	f := &Server{log: slog.New(slog.DiscardHandler), several: true}
	q := newModelQueue(f, "m", 0)
	q.member = jobqueue.Join(jobqueue.Options{
		Connect: func(changed func(error)) *state.Conn {
			return (&state.Connection{URLs: []string{"nats://" + closed.Addr().String()}, OnChange: changed}).Dial()
		},
		Local: q, Logger: f.log,
	})
	t.Cleanup(func() { _ = q.member.Close(context.Background()) })
	for range models {
		settings := &config.Model{}
		settings.Loading.When = config.OnDemand
		q.users = append(q.users, &servedModel{server: f, queue: q, of: config.Named{Settings: settings}})
	}
	return q, q.users
}

// TestModelQueue_DrainedLoadsNothing: jobs load no model that takes none, whichever comes first.
func TestModelQueue_DrainedLoadsNothing(t *testing.T) {
	q, models := loadedByJobs(t, 1)
	models[0].drainQueue()
	if models[0].beginJobs(); q.loading != nil {
		t.Error("jobs load a model that takes none, want them not to")
	}

	_, models = loadedByJobs(t, 1)
	var group sync.WaitGroup
	group.Go(models[0].beginJobs)
	group.Go(models[0].drainQueue)
	group.Wait()
}

// TestModelQueue_DrainedIsNotRouted: a list of models that was made before one was drained gives it no jobs.
func TestModelQueue_DrainedIsNotRouted(t *testing.T) {
	q, models := loadedByJobs(t, 3)
	var list []*target
	for _, m := range models {
		list = append(list, &target{servedModel: m, share: allJobs})
	}
	q.route(list)
	models[0].drainQueue()
	assert.EqualSlices(t, "the first", q.routed(), list[1:])
	q.route(list)
	assert.EqualSlices(t, "an old list", q.routed(), list[1:])
}
