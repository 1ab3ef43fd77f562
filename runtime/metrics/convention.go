package metrics

import (
	"strconv"
	"time"

	"pinion/runtime/predict"
)

// OpenTelemetry's and Cog's names for what the page shows under ours. They are sent by OTLP only.

// Why Cog's names count a prediction as rejected.
const (
	rejectedInput    = "invalid_input"
	rejectedNotReady = "not_ready"
	rejectedCapacity = "at_capacity"
)

// StatusCode is the label whose value is a number in OpenTelemetry.
const StatusCode = "http.response.status_code"

// rejection returns Cog's word for a reason of Refused.
func rejection(reason string) string {
	switch reason {
	case predict.ReasonValidation:
		return rejectedInput
	case predict.ReasonCapacity, predict.ReasonMemory:
		return rejectedCapacity
	default:
		return rejectedNotReady
	}
}

// GatherConventional returns the metrics that OpenTelemetry and Cog have names for, with their units.
func (s *Set) GatherConventional() []Family {
	var g gathered
	s.gatherServer(&g)
	s.gatherGenerations(&g)
	if s.o.Scope == ScopeAll || s.o.Scope == ScopeModel {
		s.gatherCog(&g)
	}
	return g
}

// gatherServer adds the requests by OpenTelemetry's semantic conventions for HTTP.
func (s *Set) gatherServer(g *gathered) {
	g.familyIn("s", "http.server.request.duration", Histogram, "Duration of HTTP server requests.")
	for key, r := range s.requests.snapshot() {
		labels := pairs("url.scheme", "http", StatusCode, strconv.Itoa(key.code))
		if key.method == other {
			labels = append(labels, Label{"http.request.method", "_OTHER"})
		} else {
			labels = append(labels, Label{"http.request.method", key.method})
		}
		if key.route != other {
			labels = append(labels, Label{"http.route", key.route})
		}
		if key.code >= 500 {
			labels = append(labels, Label{"error.type", strconv.Itoa(key.code)})
		}
		g.sample(Sample{Labels: labels, Histogram: sumOf(r.took)})
	}
}

func (s *Set) gatherCog(g *gathered) {
	c := &s.predictions
	operations := [...]string{predict.KindPrediction: "predict", predict.KindTraining: "train"}
	eachEnd := func(add func(h *histogram, labels []Label)) {
		for kind, operation := range operations {
			if kind != int(predict.KindPrediction) && c.idle(kind) {
				continue
			}
			for outcome, h := range c.total[kind] {
				status, _ := outcomeNames(outcome)
				add(h, pairs("operation", operation, "status", status))
			}
		}
	}
	g.familyIn("{prediction}", "cog.runtime.prediction.count", Counter, "Predictions that ended.")
	eachEnd(func(h *histogram, labels []Label) { g.sample(Sample{Labels: labels, Value: float64(h.count())}) })
	g.familyIn("s", "cog.runtime.prediction.duration", Histogram, "Time from a prediction's admission to its end.")
	eachEnd(func(h *histogram, labels []Label) { g.sample(Sample{Labels: labels, Histogram: sumOf(h)}) })

	g.familyIn("{prediction}", "cog.runtime.prediction.rejected", Counter, "Predictions that were not accepted.")
	for kind, operation := range operations {
		if kind != int(predict.KindPrediction) && c.idle(kind) {
			continue
		}
		counts := map[string]uint64{}
		for i, reason := range reasons {
			counts[rejection(reason)] += c.refused[kind][outcomeFailed+i].Load()
		}
		for _, reason := range []string{rejectedInput, rejectedNotReady, rejectedCapacity} {
			g.value(float64(counts[reason]), "operation", operation, "reason", reason)
		}
	}
	s.gatherActive(g, operations[:])
	g.familyIn("s", "cog.runtime.setup.duration", Histogram, "Time that setups took.")
	for i, status := range []string{predict.Succeeded.String(), predict.Failed.String()} {
		g.sample(Sample{Labels: pairs("status", status), Histogram: sumOf(s.setups[i])})
	}
}

func (s *Set) gatherActive(g *gathered, operations []string) {
	if s.o.Load == nil {
		return
	}
	load := s.o.Load()
	trainings := 0
	if s.o.Trainings != nil {
		trainings = min(s.o.Trainings(), load.InFlight)
	}
	active := []int{predict.KindPrediction: load.InFlight - trainings, predict.KindTraining: trainings}
	g.familyIn("{prediction}", "cog.runtime.prediction.active", UpDown, "Predictions in flight.")
	for kind, n := range active {
		g.value(float64(n), "operation", operations[kind])
	}
	busy := min(load.Slots, load.InFlight-load.Queued)
	lost := 0
	if s.o.Workers != nil {
		for _, w := range s.o.Workers() {
			if w.State == "gone" {
				lost++
			}
		}
	}
	g.familyIn("{slot}", "cog.runtime.slot.count", Gauge, "Slots; poisoned ones were lost with their worker.")
	g.value(float64(load.Slots-busy), "state", "available")
	g.value(float64(busy), "state", "busy")
	g.value(float64(lost), "state", "poisoned")
}

func (s *Set) SetupEnded(took time.Duration, failed bool) {
	i := 0
	if failed {
		i = 1
	}
	s.setups[i].observe(took)
}
