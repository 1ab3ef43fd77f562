package jobqueue

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// end ends the prediction as the state of its job says.
func (f *follower) end(s *state.State) error {
	o := readFinal(s.Prediction)
	p := f.p
	if s.Status == state.Failed && o.Started.IsZero() && strings.Contains(o.Error, state.PastDeadline) {
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
	r := predict.Result{Status: predictStatuses[s.Status], Error: o.Error, Metrics: o.Metrics, Version: o.Version}
	switch o.Fault.Status {
	case 0:
	case predict.OverBudgetStatus:
		r.OverBudget = true
	default:
		r.Fault = &o.Fault
	}
	if !f.finishOutput(&r, o.Output, s.Yielded && f.streams()) {
		return f.endOutOfMemory()
	}
	p.End(r, o.Completed)
	return nil
}

// replayMetrics emits the model's metrics of a run whose metric events did not come.
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
	Output, Metrics    json.RawMessage
	Error, Logs        string
	Fault              predict.ClientFault
	Version            string
	Started, Completed time.Time
}

// readFinal reads a prediction object. Its output is not copied.
func readFinal(prediction []byte) (o finalObject) {
	broken := rawjson.Check(prediction) != nil && !json.Valid(prediction)
	if broken || rawjson.KindOf(prediction) != rawjson.KindObject {
		return finalObject{Error: "the prediction's result cannot be read"}
	}
	for key, value := range rawjson.Members(prediction) {
		switch string(key) {
		case "output":
			o.Output = value
		case "metrics":
			o.Metrics = value
		case "error":
			o.Error = text(value)
		case "error_status":
			o.Fault.Status, _ = strconv.Atoi(string(value))
		case "error_code":
			o.Fault.Code = text(value)
		case "logs":
			o.Logs = text(value)
		case "version":
			o.Version = text(value)
		case "started_at":
			o.Started = timeOf(value)
		case "completed_at":
			o.Completed = timeOf(value)
		}
	}
	return o
}

// text returns the text of a JSON string; "" of anything else, such as null.
func text(value []byte) string {
	if rawjson.KindOf(value) != rawjson.KindString {
		return ""
	}
	return rawjson.Text(value)
}

// timeOf returns the time in a JSON string; zero if it has none.
func timeOf(value []byte) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, text(value))
	return t
}

// finishOutput gives the prediction the rest of the output. With replay its items become events, if the memory budget
// has room for another copy of all. It returns false if the rest does not fit.
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
