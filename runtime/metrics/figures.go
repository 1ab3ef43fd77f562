package metrics

import (
	"time"

	"pinion/runtime/predict"
)

// Figures are what was counted since the start, for readers within this process. Trainings count in none of the times.
type Figures struct {
	Succeeded, Canceled uint64
	Failed              uint64            // accepted, and failed
	Refused             uint64            // never accepted
	Reasons             map[string]uint64 // of what failed and what was refused; those with a count
	Total, Predict      Buckets           // in nanoseconds, as the next two
	Queue, Overhead     Buckets
	PredictSucceeded    Buckets // the part of Predict that is of those that succeeded
	// FirstOutput is the time to the first item of a stream, NextOutput that between two.
	FirstOutput, NextOutput Buckets
	BatchSize               Buckets            // in predictions
	MethodSizes             map[string]Buckets // of the batches of methods, in calls
	LostWebhooks            uint64             // deliveries that failed for good, and ends of predictions never sent
}

// Buckets is a histogram. Counts[i] is how many values were at most Bounds[i] and above the bound before it; the last
// one is those above all bounds.
type Buckets struct {
	Bounds []time.Duration // shared: do not write to it
	Counts []uint64
	Sum    int64
}

// Figures reads the counters. Others may add to them meanwhile.
func (s *Set) Figures() Figures {
	f := Figures{Reasons: map[string]uint64{}}
	for kind := range kindNames {
		for mode := range modeNames {
			for outcome := range outcomes {
				if n := s.predictions.ended[kind][mode][outcome].Load(); n > 0 {
					f.add(outcome, n)
				}
			}
		}
	}
	f.Total = read(s.predictions.total[predict.KindPrediction][:]...)
	f.Predict, f.PredictSucceeded = read(s.predictions.predict[:]...), read(s.predictions.predict[outcomeSucceeded])
	f.Queue, f.Overhead = read(s.predictions.queue), read(s.predictions.overhead)
	f.FirstOutput, f.NextOutput = read(s.predictions.firstOutput), read(s.predictions.perOutput)
	f.BatchSize, f.MethodSizes = read(s.batches.size), s.methodSizes()
	for d, c := range s.webhooks.deliveries.snapshot() {
		if d.outcome == "failed" || d == (delivery{"completed", "dropped"}) {
			f.LostWebhooks += c.Load()
		}
	}
	return f
}

func (f *Figures) add(outcome int, n uint64) {
	status, reason := outcomeNames(outcome)
	switch {
	case status == predict.Succeeded.String():
		f.Succeeded += n
		return
	case status == predict.Canceled.String():
		f.Canceled += n
		return
	case reason == predict.ReasonValidation, reason == predict.ReasonCapacity, reason == predict.ReasonUnavailable:
		f.Refused += n
	default:
		f.Failed += n
	}
	f.Reasons[reason] += n
}

// read copies histograms with the same bounds, together.
func read(parts ...*histogram) Buckets {
	b := Buckets{Bounds: parts[0].of, Counts: make([]uint64, len(parts[0].buckets))}
	for _, h := range parts {
		for i := range h.buckets {
			b.Counts[i] += h.buckets[i].Load()
		}
		b.Sum += h.sum.Load()
	}
	return b
}
