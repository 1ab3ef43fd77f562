package server

import (
	"strconv"

	"pinion/cmd/internal/version"
	"pinion/runtime/gpu/nvml"
	"pinion/runtime/metrics"
	"pinion/runtime/supervise"
	"pinion/runtime/telemetry"
)

// makeMetrics makes the metrics of the server and of its models: one set for both where there is one model.
func (f *Server) makeMetrics() {
	o := metrics.Options{
		Version:          version.Pinion,
		DroppedLogs:      f.sink.Dropped,
		DroppedTelemetry: func() map[string]uint64 { return f.telemetry.Dropped() },
		Memory:           f.budget.Stats,
		Connections:      f.connections.Stats,
		GPUs:             func() []metrics.GPU { return gpusOf(f.gpus.Samples()) },
	}
	if !f.several {
		m := f.models.first()
		m.addMetrics(&o)
		m.metrics = metrics.New(o)
		f.metrics = m.metrics
		return
	}
	o.Scope = metrics.ScopeServer
	f.metrics = metrics.New(o)
	for _, m := range f.models.all() {
		m.makeMetrics()
	}
}

// makeMetrics makes the metrics of one of several models.
func (m *servedModel) makeMetrics() {
	o := metrics.Options{Scope: metrics.ScopeModel, Version: version.Pinion}
	m.addMetrics(&o)
	m.metrics = metrics.New(o)
}

// addMetrics adds the metrics of the model, which look at it whenever they are asked for.
func (m *servedModel) addMetrics(o *metrics.Options) {
	o.Model, o.Load, o.Workers, o.ExitCauses = m.versions, m.load, m.workerStates, exitCauses()
	o.Trainings = func() int { return m.Service.TrainingsInFlight() }
	o.Mirror = func() *metrics.Mirror { return m.mirrored.Load().stats() }
	if !m.server.several {
		o.Jobs = m.jobs
	}
}

// jobs returns the model's part in its queue, or nil.
func (m *servedModel) jobs() *metrics.Jobs {
	if m.queue == nil {
		return nil
	}
	return m.queue.jobs()
}

// metricsPage is the metrics of the server and all its models.
type metricsPage interface {
	telemetry.MetricSet
	Write(accept string) (contentType string, body []byte)
}

func (f *Server) allMetrics() metricsPage {
	if !f.several {
		return f.metrics
	}
	return metrics.Several{Server: f.metrics, Models: func() (models []metrics.NamedSet) {
		for _, m := range f.models.all() {
			named := metrics.NamedSet{Name: m.Name, Set: m.metrics}
			if f.models.versionsOf(m) != nil {
				named.Name, named.Version = m.split()
			}
			models = append(models, named)
		}
		for _, q := range f.models.queues() {
			models = append(models, metrics.NamedSet{Name: q.title, Set: q.metrics})
		}
		return models
	}}
}

// versions returns what build_info says of the model's side: empty for Python until a worker has reported it.
func (m *servedModel) versions() (python, cog string) {
	for _, worker := range m.Workers() {
		if st := worker.Status(); st.Python != "" {
			return st.Python, version.Cog
		}
	}
	return "", version.Cog
}

// load counts as waiting what is beyond the slots there are: most of it lies in a worker's socket, ahead of its turn.
func (m *servedModel) load() metrics.Load {
	l := m.Pool.Load()
	return metrics.Load{
		InFlight: l.InFlight, Queued: max(0, l.InFlight-l.Capacity), Capacity: m.Pool.Queue(), Slots: l.Slots,
	}
}

func (m *servedModel) workerStates() []metrics.Worker {
	workers := m.Workers()
	now := make([]metrics.Worker, len(workers))
	for i, worker := range workers {
		st := worker.Status()
		now[i] = metrics.Worker{State: st.State.String(), PID: st.PID, Ranks: st.Ranks}
		if setup := st.Setup; !setup.Completed.IsZero() {
			now[i].Setup = setup.Completed.Sub(setup.Started)
		}
	}
	return now
}

// gpusOf returns the GPUs as the metrics want them.
func gpusOf(samples []nvml.Sample) []metrics.GPU {
	gpus := make([]metrics.GPU, len(samples))
	for i, s := range samples {
		gpus[i] = metrics.GPU{
			Name: strconv.Itoa(s.Index), MemoryUsed: s.MemoryUsed, MemoryTotal: s.MemoryTotal,
			Utilization: s.Utilization,
		}
	}
	return gpus
}

// exitCauses returns the words for a worker's exit.
func exitCauses() (causes []string) {
	for _, c := range supervise.ExitCauses() {
		causes = append(causes, string(c))
	}
	return causes
}
