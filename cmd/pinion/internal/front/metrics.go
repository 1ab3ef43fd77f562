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

// newMetrics makes the server's metrics, which look at the front whenever they are asked for.
func (f *Server) newMetrics() *metrics.Set {
	f.gpus = nvml.New(nvml.Options{})
	return metrics.New(metrics.Options{
		Version:          version.Pinion,
		Model:            f.modelVersions,
		Load:             f.load,
		Trainings:        func() int { return f.svc.TrainingsInFlight() },
		Workers:          f.workersNow,
		ExitCauses:       exitCauses(),
		DroppedLogs:      f.sink.Dropped,
		DroppedTelemetry: func() map[string]uint64 { return f.telemetry.Dropped() },
		Memory: func() metrics.Memory {
			m := f.budget.Stats()
			return metrics.Memory{Used: m.Used, Limit: m.Limit, Evictions: m.Evictions, Refusals: m.Refusals}
		},
		Jobs: func() *metrics.Jobs { return member.Jobs(f.queue) },
		GPUs: func() []metrics.GPU { return gpusOf(f.gpus.Samples()) },
	})
}

// modelVersions is what build_info says of the model's side: empty for Python until a worker has reported it.
func (f *Server) modelVersions() (python, cog string) {
	for _, w := range f.workers {
		if st := w.Status(); st.Python != "" {
			return st.Python, version.Cog
		}
	}
	return "", version.Cog
}

// load counts as waiting what is beyond the slots there are: most of it lies in a worker's socket, ahead of its turn.
func (f *Server) load() metrics.Load {
	l := f.pool.Load()
	return metrics.Load{
		InFlight: l.InFlight, Queued: max(0, l.InFlight-l.Capacity), Capacity: f.pool.Queue(), Slots: l.Slots,
	}
}

func (f *Server) workersNow() []metrics.Worker {
	now := make([]metrics.Worker, len(f.workers))
	for i, w := range f.workers {
		st := w.Status()
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
func (f *Server) recordGeneration(g protocol.Generation) {
	f.metrics.Generation(metrics.Generation{
		Operation: g.Operation, Model: g.Model, Status: g.Status, Took: g.Took, FirstToken: g.FirstToken, PerToken: g.PerToken,
	})
}
