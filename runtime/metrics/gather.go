package metrics

// Gather returns all metrics as they are now.
func (s *Set) Gather() []Family {
	var g gathered
	if s.o.Scope == ScopeQueue {
		s.gatherJobs(&g)
		return g
	}
	hasServer, hasModel := s.o.Scope != ScopeModel, s.o.Scope != ScopeServer
	if hasModel {
		s.gatherBuild(&g)
	}
	s.gatherRequests(&g)
	s.gatherCalls(&g)
	if hasModel {
		s.gatherPredictions(&g)
	}
	if s.o.GPUs != nil {
		gatherGPUs(&g, s.o.GPUs())
	}
	s.gatherLogs(&g)
	s.gatherTelemetry(&g)
	s.gatherMemory(&g)
	s.gatherConnections(&g)
	if hasServer {
		s.webhooks.gather(&g)
		s.gatherTransfers(&g)
	}
	if hasModel {
		s.model.gather(&g)
	}
	if hasServer {
		gatherGo(&g)
		gatherProcess(&g)
	}
	return g
}

func (s *Set) gatherPredictions(g *gathered) {
	s.predictions.gather(g)
	s.gatherLoad(g)
	s.batches.gather(g)
	s.streams.gather(g)
	s.gatherMethods(g)
	s.gatherJobs(g)
	s.gatherMirror(g)
	var workers []Worker
	if s.o.Workers != nil {
		workers = s.o.Workers()
	}
	s.workers.gather(g, workers, s.o.SetsAside)
}

func (s *Set) gatherBuild(g *gathered) {
	var python, cog string
	if s.o.Model != nil {
		python, cog = s.o.Model()
	}
	g.family("pinion_build_info", Gauge, "Versions; the value is 1.")
	g.value(1, "cog", cog, "python", python, "version", s.o.Version)
}

func (s *Set) gatherLoad(g *gathered) {
	if s.o.Load == nil {
		return
	}
	l := s.o.Load()
	g.gauge("pinion_predictions_in_flight", "Predictions accepted and not ended, including those that wait.",
		float64(l.InFlight))
	g.gauge("pinion_queue_length", "Predictions that wait for a slot.", float64(l.Queued))
	g.gauge("pinion_queue_capacity", "Predictions that may wait for a slot.", float64(l.Capacity))
	g.gauge("pinion_slots", "Predictions that the present workers can run at once.", float64(l.Slots))
}

func (s *Set) gatherLogs(g *gathered) {
	if s.o.DroppedLogs == nil {
		return
	}
	records, bytes := s.o.DroppedLogs()
	g.counter("pinion_log_dropped_records_total",
		"Records of the server's log that were dropped because its reader was too slow.", records)
	g.counter("pinion_log_dropped_bytes_total", "Bytes of those records.", bytes)
}

func (s *Set) gatherTelemetry(g *gathered) {
	if s.o.DroppedTelemetry == nil {
		return
	}
	g.family("pinion_telemetry_dropped_total", Counter,
		"Spans, data points and log records that the collector did not accept.")
	for signal, n := range s.o.DroppedTelemetry() {
		g.value(float64(n), "signal", signal)
	}
	g.sort()
	g.dropEmpty()
}

func (s *Set) gatherMemory(g *gathered) {
	if s.o.Memory == nil {
		return
	}
	m := s.o.Memory()
	g.gauge("pinion_memory_budget_bytes", "Bytes that the server may hold for its clients.", float64(m.Limit))
	g.gauge("pinion_memory_used_bytes", "Bytes of the memory budget in use.", float64(m.Used))
	g.counter("pinion_memory_evictions_total", "Ended predictions removed to make room in the memory budget.", m.Evictions)
	g.counter("pinion_memory_refusals_total", "Times that something did not fit into the memory budget.", m.Refusals)
	g.counter("pinion_memory_cut_total", "Slow requests and idle gRPC connections cut to make room in the memory budget.",
		m.Cut)
}

func (s *Set) gatherConnections(g *gathered) {
	if s.o.Connections == nil {
		return
	}
	c := s.o.Connections()
	g.gauge("pinion_connections", "Connections that are open, at all ports.", float64(c.Open))
	g.gauge("pinion_connections_limit", "Connections that may be open.", float64(c.Limit))
	g.counter("pinion_connections_evicted_total", "Idle connections closed to make room for new ones.", c.Evicted)
	g.counter("pinion_connections_refused_total", "New connections refused because the limit was reached.", c.Refused)
}
