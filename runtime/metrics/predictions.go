package metrics

import (
	"sync/atomic"
	"time"

	"pinion/runtime/predict"
)

// Why a prediction failed or was refused.
const (
	ReasonModel       = "model"       // the model raised an exception
	ReasonValidation  = "validation"  // refused: its input does not match the model's schema
	ReasonFiles       = "files"       // an input could not be fetched, or an output could not be uploaded
	ReasonCrash       = "crash"       // its worker exited, or sent an invalid answer
	ReasonTimeout     = "timeout"     // it exceeded its runtime or queue limit
	ReasonMemory      = "memory"      // the memory budget had no room
	ReasonCapacity    = "capacity"    // refused: every slot was busy and the queue was full
	ReasonUnavailable = "unavailable" // no worker: before setup, during shutdown, or defunct
)

// reasons are those in the order of their counters. An unknown reason counts as the model's.
var reasons = [...]string{
	ReasonModel, ReasonValidation, ReasonFiles, ReasonCrash, ReasonTimeout, ReasonCapacity, ReasonMemory, ReasonUnavailable,
}

// The outcomes of a prediction. After them there is one for each reason of a failure.
const (
	outcomeSucceeded = iota
	outcomeCanceled
	outcomeFailed
	outcomes = outcomeFailed + len(reasons)
)

var (
	kindNames = [...]string{predict.KindPrediction: "prediction", predict.KindTraining: "training"}
	modeNames = [...]string{predict.Sync: "sync", predict.Async: "async", predict.Stream: "stream"}
)

// End is the end of an accepted prediction.
type End struct {
	Kind   predict.Kind
	Mode   predict.Mode
	Status predict.Status // Succeeded, Failed or Canceled
	Reason string         // of a failure
	// Total is the time from acceptance to the end.
	Total time.Duration
	// Queue is the part in which every slot was busy, Files the part in which files were transferred before or after the
	// model ran, and Predict the part in which the model ran, 0 if it never did.
	Queue, Files, Predict time.Duration
	// Metrics is a JSON object: predict_time and what the model recorded. It is not retained.
	Metrics []byte
}

// predictions are the counters and times of predictions.
type predictions struct {
	ended    [len(kindNames)][len(modeNames)][outcomes]counter
	total    *histogram
	predict  *histogram
	queue    *histogram
	overhead *histogram
	training *histogram
}

func (c *predictions) init() {
	c.total = newTimes()
	c.predict, c.queue, c.overhead, c.training = c.total.like(), c.total.like(), c.total.like(), c.total.like()
}

// Ended records a prediction's end.
func (s *Set) Ended(e End) {
	c := &s.predictions
	c.count(e.Kind, e.Mode, outcomeOf(e.Status, e.Reason))
	s.Recorded(e.Metrics)
	if e.Kind != predict.KindPrediction { // trainings take hours, and would hide the predictions' times
		c.training.observe(e.Total)
		return
	}
	c.total.observe(e.Total)
	c.queue.observe(e.Queue)
	if e.Predict > 0 {
		c.predict.observe(e.Predict)
		c.overhead.observe(e.Total - e.Queue - e.Files - e.Predict)
	}
}

// Refused records a refused prediction and the reason.
func (s *Set) Refused(kind predict.Kind, mode predict.Mode, reason string) {
	s.predictions.count(kind, mode, outcomeOf(predict.Failed, reason))
}

func (c *predictions) count(kind predict.Kind, mode predict.Mode, outcome int) {
	if int(kind) < len(kindNames) && int(mode) < len(modeNames) {
		c.ended[kind][mode][outcome].Add(1)
	}
}

func outcomeOf(status predict.Status, reason string) int {
	switch status {
	case predict.Succeeded:
		return outcomeSucceeded
	case predict.Canceled:
		return outcomeCanceled
	}
	for i, r := range reasons {
		if r == reason {
			return outcomeFailed + i
		}
	}
	return outcomeFailed
}

// outcomeNames returns the labels status and reason of an outcome.
func outcomeNames(outcome int) (status, reason string) {
	switch outcome {
	case outcomeSucceeded:
		return predict.Succeeded.String(), ""
	case outcomeCanceled:
		return predict.Canceled.String(), ""
	default:
		return predict.Failed.String(), reasons[outcome-outcomeFailed]
	}
}

func (c *predictions) write(p *page) {
	for kind, help := range [...]string{"Predictions ended or refused.", "Trainings ended or refused."} {
		name := "pinion_" + kindNames[kind] + "s_total"
		if kind != int(predict.KindPrediction) && c.idle(kind) {
			continue // most models have no trainings
		}
		p.family(name, typeCounter, help)
		for mode := range modeNames {
			for outcome := range outcomes {
				status, reason := outcomeNames(outcome)
				p.count(name, labels("mode", modeNames[mode], "reason", reason, "status", status), c.ended[kind][mode][outcome].Load())
			}
		}
	}
	for _, h := range []struct {
		name, help string
		h          *histogram
	}{
		{"pinion_prediction_duration_seconds", "Time from a prediction's admission to its end.", c.total},
		{"pinion_predict_seconds", "Time for which the model had a prediction.", c.predict},
		{"pinion_queue_seconds", "Time for which a prediction waited because every slot was busy.", c.queue},
		{"pinion_overhead_seconds", "Time that the server added to a prediction: neither queue nor files nor model.", c.overhead},
		{"pinion_training_duration_seconds", "Time from a training's admission to its end.", c.training},
	} {
		if h.h == c.training && h.h.count() == 0 {
			continue
		}
		p.family(h.name, typeHistogram, h.help)
		h.h.write(p, h.name, "")
	}
}

// idle reports whether a kind was never counted.
func (c *predictions) idle(kind int) bool {
	for mode := range modeNames {
		for outcome := range outcomes {
			if c.ended[kind][mode][outcome].Load() > 0 {
				return false
			}
		}
	}
	return true
}

// batches are the counters of batches.
type batches struct {
	any  atomic.Bool
	size *histogram
	wait *histogram
}

func (b *batches) init() { b.size, b.wait = newHistogram(sizes(), 1), newTimes() }

// Batch records a batch: how many predictions it had, and how long the oldest of them waited for it. The series of batches
// appear with the first batch.
func (s *Set) Batch(size int, wait time.Duration) {
	s.batches.size.observe(time.Duration(size))
	s.batches.wait.observe(wait)
	s.batches.any.Store(true)
}

func (b *batches) write(p *page) {
	if !b.any.Load() {
		return
	}
	p.family("pinion_batch_size", typeHistogram, "Predictions that the model was given at once.")
	b.size.write(p, "pinion_batch_size", "")
	p.family("pinion_batch_wait_seconds", typeHistogram, "Time for which a batch's oldest prediction was held back for others.")
	b.wait.write(p, "pinion_batch_wait_seconds", "")
}
