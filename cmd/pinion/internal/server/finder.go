package server

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"pinion/runtime/jobqueue/store"
)

// finder finds the models that have a queue.
type finder struct {
	nc   *nats.Conn
	stop chan struct{}
}

// findEvery is how often a gateway looks for new models.
const findEvery = 5 * time.Second

// joinAll joins the queues of the models that --models names, or that have one.
func (g *gateway) joinAll() error {
	names := g.s.Models
	if len(names) == 0 {
		nc, err := g.s.Jobs.NATS.Connect("", g.s.Jobs.Options("", 0).Server, func(lost error) {
			if lost != nil {
				g.log.Warn("NATS cannot be reached", "error", lost)
			}
		})
		if err != nil {
			return err
		}
		g.finder = &finder{nc, make(chan struct{})}
		if nc.IsConnected() {
			if names, err = g.finder.names(); err != nil {
				return err
			}
		}
	}
	return g.joinModels(names)
}

// joinModels joins the queues of further models.
func (g *gateway) joinModels(names []string) error {
	joined := slices.Clone(g.all())
	defer func() { g.models.Store(&joined) }()
	for _, name := range names {
		m, err := g.join(name)
		if err != nil {
			return err
		}
		joined = append(joined, m)
		if g.finder != nil {
			slices.SortFunc(joined, func(a, b *gatewayModel) int { return strings.Compare(a.name, b.name) })
		}
	}
	return nil
}

// names returns the names of the models that have a queue.
func (f *finder) names() ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), findEvery)
	defer cancel()
	return store.Models(ctx, f.nc)
}

// ready says why no model can be found; nil means one can.
func (f *finder) ready() error {
	if f != nil && !f.nc.IsConnected() {
		return errNoNATS
	}
	return nil
}

func (f *finder) close() {
	if f != nil {
		close(f.stop)
		f.nc.Close()
	}
}

// find looks for new models until the gateway ends.
func (g *gateway) find() {
	ticker := time.NewTicker(findEvery)
	defer ticker.Stop()
	failed := map[string]bool{} // models whose queue cannot be joined, once told
	for {
		select {
		case <-ticker.C:
		case <-g.finder.stop:
			return
		}
		names, err := g.finder.names()
		if err != nil {
			g.log.Debug("the job queues cannot be listed; will try again", "error", err)
			continue
		}
		for _, name := range names {
			if slices.ContainsFunc(g.all(), func(m *gatewayModel) bool { return m.name == name }) {
				continue
			}
			if err := g.joinModels([]string{name}); err != nil {
				if !failed[name] {
					g.log.Warn("a model's job queue cannot be joined; will try again", "model", name, "error", err)
				}
				failed[name] = true
				continue
			}
			delete(failed, name)
			g.log.Info("joined the job queue", "model", name)
			g.showModels()
		}
	}
}

// leaveAll leaves the queues.
func (g *gateway) leaveAll() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveWait)
	defer cancel()
	for _, m := range g.all() {
		if err := m.member.Close(ctx); err != nil {
			g.log.Warn("left the job queue too early", "model", m.name, "error", err)
		}
	}
}
