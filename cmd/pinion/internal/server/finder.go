package server

import (
	"context"
	"slices"
	"strings"
	"time"

	"pinion/runtime/jobqueue/store/state"
)

// finder finds the models that have a queue.
type finder struct {
	conn *state.Conn
	stop chan struct{}
}

// findEvery is how often a gateway looks for new models.
const findEvery = 5 * time.Second

// joinAll joins the queues of the models that --models names, or that have one. A NATS that does not answer for
// joinWait is not waited for; if it refuses this gateway later, that ends the gateway.
func (g *gateway) joinAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), joinWait)
	defer cancel()
	names := g.s.Models
	if len(names) == 0 {
		conn := g.s.Jobs.NATS.Dial("", g.s.Jobs.Options("", 0).Server, func(lost error) {
			if lost != nil {
				g.log.Warn("NATS cannot be reached", "error", lost)
			}
		})
		g.finder = &finder{conn, make(chan struct{})}
		if err := g.await(ctx, conn.Tried, conn.Refused); err != nil {
			return err
		}
		if conn.IsConnected() {
			var err error
			if names, err = g.finder.names(ctx); err != nil && !state.Temporary(err) {
				return err
			}
		}
	}
	var joined []*gatewayModel
	for _, name := range names {
		joined = append(joined, g.join(name))
	}
	g.models.Store(&joined)
	for _, m := range joined {
		if err := g.await(ctx, m.joined, func() error { return m.refusal(m.member.Refused()) }); err != nil {
			return err
		}
	}
	return nil
}

// await waits for what NATS says first, until ctx ends. An error that it says later ends the gateway.
func (g *gateway) await(ctx context.Context, first func(context.Context) error, later func() error) error {
	if err := first(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	go func() {
		if err := later(); err != nil {
			select {
			case g.refused <- err:
			default: // another one was first
			}
		}
	}()
	return nil
}

// names returns the names of the models that have a queue.
func (f *finder) names(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, findEvery)
	defer cancel()
	return f.conn.Models(ctx)
}

// ready says why no model can be found; nil means one can.
func (f *finder) ready() error {
	if f != nil && !f.conn.IsConnected() {
		return errNoNATS
	}
	return nil
}

func (f *finder) close() {
	if f != nil {
		close(f.stop)
		f.conn.Close()
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
		if !g.finder.conn.IsConnected() {
			continue
		}
		names, err := g.finder.names(context.Background())
		if err != nil {
			g.log.Debug("the job queues cannot be listed; will try again", "error", err)
			continue
		}
		for _, name := range names {
			if slices.ContainsFunc(g.all(), func(m *gatewayModel) bool { return m.name == name }) {
				continue
			}
			m := g.join(name)
			if err := m.joined(context.Background()); err != nil {
				if !failed[name] {
					g.log.Warn("a model's job queue cannot be joined; will try again", "model", name, "error", err)
				}
				failed[name] = true
				g.leave(m)
				continue
			}
			delete(failed, name)
			joined := append(slices.Clone(g.all()), m)
			slices.SortFunc(joined, func(a, b *gatewayModel) int { return strings.Compare(a.name, b.name) })
			g.models.Store(&joined)
			g.log.Info("joined the job queue", "model", name)
			g.showModels()
		}
	}
}

// leave leaves the queues of these models.
func (g *gateway) leave(models ...*gatewayModel) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveWait)
	defer cancel()
	for _, m := range models {
		if err := m.member.Close(ctx); err != nil {
			g.log.Warn("left the job queue too early", "model", m.name, "error", err)
		}
	}
}
