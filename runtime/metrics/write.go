package metrics

import (
	"strconv"
	"strings"
)

// The content types of the page.
const (
	contentText = "text/plain; version=0.0.4; charset=utf-8"
	contentOpen = "application/openmetrics-text; version=1.0.0; charset=utf-8"
)

// Write returns the page in the format that the Accept header prefers, and its content type.
func (s *Set) Write(accept string) (contentType string, body []byte) {
	p := &page{open: prefersOpen(accept)}
	contentType = contentText
	if p.open {
		contentType = contentOpen
	}
	s.writeBuild(p)
	s.writeRequests(p)
	s.predictions.write(p)
	s.writeLoad(p)
	s.batches.write(p)
	var workers []Worker
	if s.o.Workers != nil {
		workers = s.o.Workers()
	}
	s.workers.write(p, workers, s.o.SetsAside)
	if s.o.GPUs != nil {
		writeGPUs(p, s.o.GPUs())
	}
	s.writeLogs(p)
	s.writeMemory(p)
	s.writeWebhooks(p)
	s.writeTransfers(p)
	s.model.write(p)
	writeGo(p)
	writeProcess(p)
	p.end()
	return contentType, p.b
}

func (s *Set) writeBuild(p *page) {
	var python, cog string
	if s.o.Model != nil {
		python, cog = s.o.Model()
	}
	p.family("pinion_build_info", typeGauge, "Versions; the value is 1.")
	p.float("pinion_build_info", labels("cog", cog, "python", python, "version", s.o.Version), 1)
}

func (s *Set) writeLoad(p *page) {
	if s.o.Load == nil {
		return
	}
	l := s.o.Load()
	p.gauge("pinion_predictions_in_flight", "Predictions taken in that have not ended, those that wait included.", float64(l.InFlight))
	p.gauge("pinion_queue_length", "Predictions that wait for a slot.", float64(l.Queued))
	p.gauge("pinion_queue_capacity", "Predictions that may wait for a slot.", float64(l.Capacity))
	p.gauge("pinion_slots", "Predictions that the workers there are can carry out at once.", float64(l.Slots))
}

func (s *Set) writeLogs(p *page) {
	if s.o.DroppedLogs == nil {
		return
	}
	records, bytes := s.o.DroppedLogs()
	p.family("pinion_log_dropped_records_total", typeCounter, "Records of the server's log that were dropped, for its reader did not take them.")
	p.count("pinion_log_dropped_records_total", "", records)
	p.family("pinion_log_dropped_bytes_total", typeCounter, "Bytes of those records.")
	p.count("pinion_log_dropped_bytes_total", "", bytes)
}

func (s *Set) writeMemory(p *page) {
	if s.o.Memory == nil {
		return
	}
	m := s.o.Memory()
	p.gauge("pinion_memory_budget_bytes", "Bytes that the server may hold for its clients.", float64(m.Limit))
	p.gauge("pinion_memory_used_bytes", "Bytes of the memory budget in use.", float64(m.Used))
	p.family("pinion_memory_evictions_total", typeCounter, "Ended predictions removed to make room in the memory budget.")
	p.count("pinion_memory_evictions_total", "", m.Evictions)
	p.family("pinion_memory_refusals_total", typeCounter, "Times that the memory budget had no room for something.")
	p.count("pinion_memory_refusals_total", "", m.Refusals)
}

// prefersOpen reports whether an Accept header prefers OpenMetrics to the text format, the default. Versions 1.0.0 and 0.0.1,
// its draft, read the same.
func prefersOpen(accept string) bool {
	open, text := 0.0, 0.0
	for part := range strings.SplitSeq(accept, ",") {
		media, parameters, _ := strings.Cut(part, ";")
		q, version := 1.0, ""
		for parameter := range strings.SplitSeq(parameters, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
			switch strings.ToLower(name) {
			case "q":
				q, _ = strconv.ParseFloat(value, 64) // 0 if it is not a number
			case "version":
				version = strings.Trim(value, `"`)
			}
		}
		switch strings.ToLower(strings.TrimSpace(media)) {
		case "application/openmetrics-text":
			if version == "" || version == "1.0.0" || version == "0.0.1" {
				open = max(open, q)
			}
		case "text/plain", "text/*", "*/*":
			if version == "" || version == "0.0.4" {
				text = max(text, q)
			}
		}
	}
	return open > 0 && open >= text
}
