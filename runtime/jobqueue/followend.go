package jobqueue

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// end ends the prediction as the state of its job says.
func (f *follower) end(s *store.State) error {
	o := readFinal(s.Prediction)
	p := f.p
	if s.Status == store.Failed && o.Started.IsZero() && strings.Contains(o.Error, store.PastDeadline) {
		p.End(predict.Result{Status: predict.Failed, Error: predict.ErrQueueTimeout.Error()}, o.Completed)
		return predict.ErrQueueTimeout
	}
	if !o.Started.IsZero() {
		p.Begin(o.Started)
	}
	if logs := []byte(o.Logs); bytes.HasPrefix(logs, p.Record().Logs) {
		p.Log(stdout, logs[len(p.Record().Logs):])
	}
	f.replayMetrics(o.Metrics)
	r := predict.Result{Status: predictStatuses[s.Status], Error: o.Error, Metrics: o.Metrics}
	if !f.finishOutput(&r, o.Output, s.Yielded && f.streams()) {
		return f.endOutOfMemory()
	}
	p.End(r, o.Completed)
	return nil
}

// replayMetrics emits the model's metrics of a run of which none came.
func (f *follower) replayMetrics(metrics json.RawMessage) {
	if f.sawMetric || !f.streams() {
		return
	}
	for name, value := range rawjson.Members(metrics) {
		if !rawjson.KeyIs(name, "predict_time") { // it is the server's
			f.p.Metric(slices.Concat([]byte(`{"name":"`), name, []byte(`","value":`), value, []byte(`,"mode":"replace"}`)))
		}
	}
}

// streams reports whether a client follows the events.
func (f *follower) streams() bool { return f.readOnly || f.p.Request.Mode == predict.Stream }

// stdout is the source of logs that come with the end: the state does not tell them apart.
const stdout = "stdout"

// finalObject is a prediction object of one that has ended.
type finalObject struct {
	Output    json.RawMessage `json:"-"`
	Error     string          `json:"error"`
	Logs      string          `json:"logs"`
	Metrics   json.RawMessage `json:"metrics"`
	Started   time.Time       `json:"started_at"`
	Completed time.Time       `json:"completed_at"`
}

// readFinal reads a prediction object. Its output is not copied.
func readFinal(prediction []byte) (o finalObject) {
	if err := json.Unmarshal(prediction, &o); err != nil {
		return finalObject{Error: "the prediction's result cannot be read"}
	}
	for key, value := range rawjson.Members(prediction) {
		if rawjson.KeyIs(key, "output") {
			o.Output = value
		}
	}
	return o
}

// finishOutput gives the prediction what it has not had yet of the output. replay: its items are events, if the memory
// budget has room for another copy of all. false: the others do not fit.
func (f *follower) finishOutput(r *predict.Result, output json.RawMessage, replay bool) bool {
	if f.nextOutput == 0 {
		if !replay || !f.p.Charge(2*len(output)) {
			r.Output = output
			return true
		}
		f.p.Refund(2 * len(output))
	}
	r.Yielded = true
	for i, item := range rawjson.Items(output) {
		if uint64(i) >= f.nextOutput && !f.p.Output(item) {
			return false
		}
	}
	return true
}
