package metrics

import (
	"time"

	"pinion/runtime/predict"
	"pinion/runtime/trace"
)

// reasons are those of predict, in the order of their counters. An unknown reason counts as the model's.
var reasons = [...]string{
	predict.ReasonModel, predict.ReasonInput, predict.ReasonValidation, predict.ReasonFiles, predict.ReasonCrash,
	predict.ReasonTimeout, predict.ReasonCapacity, predict.ReasonMemory, predict.ReasonUnavailable,
}

// The outcomes of a prediction. After them there is one for each reason of a failure.
const (
	outcomeSucceeded = iota
	outcomeCanceled
	outcomeFailed
	outcomes = outcomeFailed + len(reasons)
	statuses = outcomeFailed + 1
)

var (
	kindNames = [...]string{predict.KindPrediction: "prediction", predict.KindTraining: "training"}
	modeNames = [...]string{predict.Sync: "sync", predict.Async: "async", predict.Stream: "stream"}
)

type predictions struct {
	ended       [len(kindNames)][len(modeNames)][outcomes]counter // refused ones too
	refused     [len(kindNames)][outcomes]counter
	total       [len(kindNames)][statuses]*histogram
	predict     [2]*histogram // of those that succeeded, and of the others
	queue       *histogram
	overhead    *histogram
	firstOutput *histogram
	perOutput   *histogram
}

func (c *predictions) init() {
	c.predict[0] = newTimes()
	times := c.predict[0].bounds
	for _, h := range []**histogram{&c.predict[1], &c.queue, &c.overhead, &c.firstOutput, &c.perOutput} {
		*h = times.histogram()
	}
	for kind := range c.total {
		for status := range c.total[kind] {
			c.total[kind][status] = times.histogram()
		}
	}
}

func (s *Set) Ended(e predict.End) {
	c := &s.predictions
	outcome := outcomeOf(e.Status, e.Reason)
	c.count(e.Kind, e.Mode, outcome)
	s.Recorded(e.Metrics)
	at := timeOf(e.Trace)
	if int(e.Kind) < len(kindNames) {
		c.total[e.Kind][min(outcome, outcomeFailed)].observeIn(e.Total, e.Trace, at)
	}
	if e.Kind != predict.KindPrediction { // trainings take hours, and would hide the predictions' times
		return
	}
	c.queue.observeIn(e.Queue, e.Trace, at)
	if e.Predict > 0 {
		c.predict[min(outcome, outcomeCanceled)].observeIn(e.Predict, e.Trace, at)
		c.overhead.observeIn(e.Total-e.Queue-e.Files-e.Predict, e.Trace, at)
	}
}

// timeOf returns the time of an exemplar; zero means there is none.
func timeOf(in *trace.Context) (at time.Time) {
	if in != nil {
		at = time.Now()
	}
	return at
}

func (s *Set) Refused(kind predict.Kind, mode predict.Mode, reason string) {
	outcome := outcomeOf(predict.Failed, reason)
	s.predictions.count(kind, mode, outcome)
	if int(kind) < len(kindNames) {
		s.predictions.refused[kind][outcome].Add(1)
	}
}

// FirstOutput records the time from a prediction's admission to the first item that its model yielded; in is
// predict.End.Trace.
func (s *Set) FirstOutput(after time.Duration, in *trace.Context) {
	s.predictions.firstOutput.observeIn(after, in, timeOf(in))
}

// NextOutput records the time between two items of a prediction.
func (s *Set) NextOutput(after time.Duration) { s.predictions.perOutput.observe(after) }

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

func (c *predictions) gather(g *gathered) {
	for kind, help := range [...]string{"Predictions ended or refused.", "Trainings ended or refused."} {
		if kind != int(predict.KindPrediction) && c.idle(kind) {
			continue // most models have no trainings
		}
		g.family("pinion_"+kindNames[kind]+"s_total", Counter, help)
		for mode := range modeNames {
			for outcome := range outcomes {
				status, reason := outcomeNames(outcome)
				g.value(float64(c.ended[kind][mode][outcome].Load()), "mode", modeNames[mode], "reason", reason, "status", status)
			}
		}
	}
	g.histogram("pinion_prediction_duration_seconds", "Time from a prediction's admission to its end.",
		c.total[predict.KindPrediction][:]...)
	g.histogram("pinion_predict_seconds", "Time that the model took for a prediction.", c.predict[:]...)
	g.histogram("pinion_queue_seconds", "Time for which a prediction waited because every slot was busy.", c.queue)
	g.histogram("pinion_overhead_seconds",
		"Time that the server added to a prediction: neither queue nor files nor model.", c.overhead)
	g.histogram("pinion_time_to_first_output_seconds",
		"Time from a prediction's admission to the first item that the model yielded.", c.firstOutput)
	g.histogram("pinion_time_per_output_seconds", "Time between two items that the model yielded.", c.perOutput)
	if !c.idle(int(predict.KindTraining)) {
		g.histogram("pinion_training_duration_seconds", "Time from a training's admission to its end.",
			c.total[predict.KindTraining][:]...)
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
