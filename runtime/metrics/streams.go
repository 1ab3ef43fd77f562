package metrics

import "sync/atomic"

// streams counts the sessions of models with a streamed input, whose items come while they run.
type streams struct {
	any      atomic.Bool
	sessions atomic.Int64
	items    [2]counter // in, out
	bytes    [2]counter
}

// Session records that a session has begun, or ended. The series of sessions appear with the first one.
func (s *Set) Session(begun bool) {
	if begun {
		s.streams.any.Store(true)
		s.streams.sessions.Add(1)
	} else {
		s.streams.sessions.Add(-1)
	}
}

// StreamItem records an item of a session: one that the client has sent, or one that the model has yielded.
func (s *Set) StreamItem(yielded bool, bytes int) {
	direction := 0
	if yielded {
		direction = 1
	}
	s.streams.items[direction].Add(1)
	s.streams.bytes[direction].Add(uint64(bytes))
}

func (c *streams) gather(g *gathered) {
	if !c.any.Load() {
		return
	}
	g.gauge("pinion_stream_sessions", "Sessions of streamed inputs that run or wait for a slot.",
		float64(c.sessions.Load()))
	for _, of := range []struct {
		name, help string
		counts     *[2]counter
	}{
		{"pinion_stream_items_total", "Items of sessions.", &c.items},
		{"pinion_stream_bytes_total", "Bytes of the items of sessions.", &c.bytes},
	} {
		g.family(of.name, Counter, of.help)
		for i, direction := range []string{"in", "out"} {
			g.value(float64(of.counts[i].Load()), "direction", direction)
		}
	}
}
