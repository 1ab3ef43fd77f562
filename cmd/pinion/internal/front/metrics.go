package front

import (
	"strconv"

	"pinion/cmd/pinion/internal/member"
	"pinion/cmd/pinion/internal/version"
	"pinion/httpd/protocol"
	"pinion/pyembed/nvml"
	"pinion/runtime/metrics"
	"pinion/runtime/service"
	"pinion/runtime/supervise"
)

// newMetrics makes the metrics, which look at the model and the server whenever they are asked for.
func (m *servedModel) newMetrics() *metrics.Set {
	f := m.server
	return metrics.New(metrics.Options{
		Version:          version.Pinion,
		Model:            m.workers.versions,
		Load:             m.load,
		Trainings:        func() int { return m.svc.TrainingsInFlight() },
		Workers:          m.workers.now,
		ExitCauses:       exitCauses(),
		DroppedLogs:      f.sink.Dropped,
		DroppedTelemetry: func() map[string]uint64 { return f.telemetry.Dropped() },
		Memory: func() metrics.Memory {
			held := f.budget.Stats()
			return metrics.Memory{Used: held.Used, Limit: held.Limit, Evictions: held.Evictions, Refusals: held.Refusals}
		},
		Jobs: func() *metrics.Jobs { return member.Jobs(m.queue) },
		GPUs: func() []metrics.GPU { return gpusOf(f.gpus.Samples()) },
	})
}

// versions is what build_info says of the model's side: empty for Python until a worker has reported it.
func (w *workers) versions() (python, cog string) {
	for _, one := range w.all {
		if st := one.Status(); st.Python != "" {
			return st.Python, version.Cog
		}
	}
	return "", version.Cog
}

// load counts as waiting what is beyond the slots there are: most of it lies in a worker's socket, ahead of its turn.
func (m *servedModel) load() metrics.Load {
	l := m.pool.Load()
	return metrics.Load{
		InFlight: l.InFlight, Queued: max(0, l.InFlight-l.Capacity), Capacity: m.pool.Queue(), Slots: l.Slots,
	}
}

func (w *workers) now() []metrics.Worker {
	now := make([]metrics.Worker, len(w.all))
	for i, one := range w.all {
		st := one.Status()
		now[i] = metrics.Worker{State: st.State.String(), PID: st.PID}
		if setup := st.Setup; !setup.Completed.IsZero() {
			now[i].Setup = setup.Completed.Sub(setup.Started)
		}
	}
	return now
}

// observer tells the metrics of the ends of predictions. It implements service.Observer.
type observer struct{ *metrics.Set }

var _ service.Observer = observer{}

func (o observer) Ended(e service.End) { o.Set.Ended(metrics.End(e)) }

// gpusOf are the GPUs as the metrics want them.
func gpusOf(samples []nvml.Sample) []metrics.GPU {
	gpus := make([]metrics.GPU, len(samples))
	for i, s := range samples {
		gpus[i] = metrics.GPU{Name: strconv.Itoa(s.Index), MemoryUsed: s.MemoryUsed, MemoryTotal: s.MemoryTotal, Utilization: s.Utilization}
	}
	return gpus
}

// exitCauses are the words for a worker's exit.
func exitCauses() (causes []string) {
	for _, c := range supervise.ExitCauses() {
		causes = append(causes, string(c))
	}
	return causes
}

// recordGeneration records a request to a generative model.
func (m *servedModel) recordGeneration(g protocol.Generation) {
	m.metrics.Generation(metrics.Generation{
		Operation: g.Operation, Model: g.Model, Status: g.Status, Took: g.Took, FirstToken: g.FirstToken, PerToken: g.PerToken,
	})
}
