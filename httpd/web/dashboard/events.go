package dashboard

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"pinion/runtime/logtext"
	"pinion/runtime/metrics"
	"pinion/runtime/predict"
)

// shownPredictions is how many predictions each list of an event has at most.
const shownPredictions = 100

// hello is the first event.
type hello struct {
	Model    string            `json:"model"`
	Versions map[string]string `json:"versions"`
	Began    int64             `json:"began"` // when the server started, as all times
	Docs     string            `json:"docs,omitempty"`
	TraceURL string            `json:"trace_url,omitempty"`
	Content  bool              `json:"content"`
	Keep     float64           `json:"keep"` // seconds
	Columns  []string          `json:"columns"`
	Points   [][]any           `json:"points"`
}

// figures is the event of each second. A part that has not changed since the last event is left out.
type figures struct {
	At          int64           `json:"at"`
	Point       []any           `json:"point,omitempty"`
	Recent      recent          `json:"recent"`
	UsualP99    any             `json:"usual_p99"` // seconds: history.usual
	Ended       map[string]any  `json:"ended"`     // counts since the start
	State       json.RawMessage `json:"state,omitempty"`
	Predictions json.RawMessage `json:"predictions,omitempty"`
	Log         *newRecords     `json:"log,omitempty"`
}

// newRecords are records of the server's log. A new follower may have some of them already.
type newRecords struct {
	Last    uint64   `json:"last"` // the number of the last one
	Records []string `json:"records"`
}

// recent is the last minute. Times are seconds.
type recent struct {
	Seconds   any               `json:"seconds"`
	Count     uint64            `json:"count"` // predictions with a time
	Succeeded uint64            `json:"succeeded"`
	Failed    uint64            `json:"failed"`
	Refused   uint64            `json:"refused"`
	Canceled  uint64            `json:"canceled"`
	Reasons   map[string]uint64 `json:"reasons"`
	P50       any               `json:"p50"`
	P90       any               `json:"p90"`
	P99       any               `json:"p99"`
	Total     any               `json:"total"` // the mean, as the next three
	Queue     any               `json:"queue"`
	Predict   any               `json:"predict"`
	Overhead  any               `json:"overhead"`
	Items     any               `json:"items,omitempty"`   // of streams, a second; the next three are theirs
	First50   any               `json:"first50,omitempty"` // time to the first
	First99   any               `json:"first99,omitempty"`
	Next      any               `json:"next,omitempty"` // the mean time between two
	Batches   []batchSizes      `json:"batches,omitempty"`
	Buckets   [][2]any          `json:"buckets,omitempty"` // longest time, number of predictions
	Webhooks  uint64            `json:"webhooks"`          // that were not delivered
}

func recentOf(w window) recent {
	seconds := func(d metrics.Buckets) any { return round(mean(d) / float64(time.Second)) }
	r := recent{
		Seconds: round(w.seconds), Count: count(w.Total), Succeeded: w.Succeeded, Failed: w.Failed, Refused: w.Refused,
		Canceled: w.Canceled,
		Reasons:  w.Reasons, P50: round(quantile(w.Total, 0.5)), P90: round(quantile(w.Total, 0.9)),
		P99:   round(quantile(w.Total, 0.99)),
		Total: seconds(w.Total), Queue: seconds(w.Queue), Predict: seconds(w.Predict), Overhead: seconds(w.Overhead),
		Batches: batchesOf(w), Webhooks: w.LostWebhooks,
	}
	if first := count(w.FirstOutput); first > 0 {
		r.Items = round(w.rate(first + count(w.NextOutput)))
		r.First50, r.First99 = round(quantile(w.FirstOutput, 0.5)), round(quantile(w.FirstOutput, 0.99))
		r.Next = seconds(w.NextOutput)
	}
	for i, n := range w.Total.Counts {
		if n > 0 {
			r.Buckets = append(r.Buckets, [2]any{w.Total.Bounds[min(i, len(w.Total.Bounds)-1)].Seconds(), n})
		}
	}
	return r
}

// batchSizes are the batches of predictions or of one method.
type batchSizes struct {
	Method string      `json:"method"` // "" means batches of predictions
	Count  uint64      `json:"count"`
	Mean   any         `json:"mean"`
	Sizes  [][2]uint64 `json:"sizes"` // largest size, number of batches
}

// batchesOf returns the batch sizes of predictions, and of each method that has had batches since the start.
func batchesOf(w window) []batchSizes {
	var sizes []batchSizes
	if n := count(w.BatchSize); n > 0 {
		sizes = append(sizes, sizesOf("", w.BatchSize))
	}
	for _, method := range slices.Sorted(maps.Keys(w.MethodSizes)) {
		sizes = append(sizes, sizesOf(method, w.MethodSizes[method]))
	}
	return sizes
}

func sizesOf(method string, d metrics.Buckets) batchSizes {
	b := batchSizes{Method: method, Count: count(d), Mean: round(mean(d)), Sizes: [][2]uint64{}}
	for i, n := range d.Counts {
		if n > 0 {
			b.Sizes = append(b.Sizes, [2]uint64{uint64(d.Bounds[min(i, len(d.Bounds)-1)]), n})
		}
	}
	return b
}

// prediction is a row of the view.
type prediction struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"` // prediction or training
	Mode     string `json:"mode"`
	Status   string `json:"status"` // that of the API, or waiting
	Created  int64  `json:"created"`
	Started  int64  `json:"started,omitempty"`
	Ended    int64  `json:"ended,omitempty"`
	Position int    `json:"position,omitempty"` // in the queue
	Running  int64  `json:"running,omitempty"`  // since when a worker runs it
	Worker   int    `json:"worker,omitempty"`   // its index, if Running is set
	Total    any    `json:"total,omitempty"`
	Queue    any    `json:"queue,omitempty"`
	Files    any    `json:"files,omitempty"`
	Predict  any    `json:"predict,omitempty"`
	Overhead any    `json:"overhead,omitempty"`
	Error    string `json:"error,omitempty"`
	Logs     bool   `json:"logs,omitempty"`
	Trace    string `json:"trace,omitempty"`
}

type overview struct {
	InFlight []prediction `json:"in_flight"`
	Ended    []prediction `json:"ended"`
	Failed   []prediction `json:"failed"`
}

var (
	kinds = [...]string{predict.KindPrediction: "prediction", predict.KindTraining: "training"}
	modes = [...]string{predict.Sync: "sync", predict.Async: "async", predict.Stream: "stream"}
)

func rows(of []predict.Summary) []prediction {
	out := make([]prediction, len(of))
	for i := range of {
		out[i] = rowOf(&of[i])
	}
	return out
}

func rowOf(s *predict.Summary) prediction {
	row := prediction{
		ID: s.ID, Kind: kinds[s.Kind], Mode: modes[s.Mode], Status: s.Status.String(), Created: Milliseconds(s.Created),
		Started: Milliseconds(s.Started), Ended: Milliseconds(s.Completed), Position: s.QueuePosition,
		Running: Milliseconds(s.Running), Worker: s.Worker,
		Error: firstLine(s.Error), Logs: len(s.Logs) > 0, Trace: traceID(s.TraceParent),
	}
	switch {
	case s.Status.Terminal():
	case s.QueuePosition > 0:
		row.Status = "waiting"
	default: // a plain prediction does not say when the model begins it
		row.Status = predict.Processing.String()
	}
	if t := s.Times; t.Total > 0 {
		row.Total, row.Queue, row.Files = round(t.Total.Seconds()), round(t.Queue.Seconds()), round(t.Files.Seconds())
		row.Predict, row.Overhead = round(t.Predict.Seconds()), round(max(0, t.Total-t.Queue-t.Files-t.Predict).Seconds())
	}
	return row
}

// firstLine returns the part of an error that a row shows.
func firstLine(text string) string {
	line, more, _ := strings.Cut(text, "\n")
	if len(line) > logtext.MaxShown {
		return logtext.Clip(line)
	}
	if more != "" {
		line += " …"
	}
	return line
}

// traceID returns the trace's id in a W3C traceparent: VERSION-TRACE-PARENT-FLAGS; "" means it has none.
func traceID(parent string) string {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || strings.Trim(parts[1], "0123456789abcdef") != "" ||
		strings.Trim(parts[1], "0") == "" {
		return ""
	}
	return parts[1]
}

// event returns a server-sent event.
func event(name string, data any) []byte {
	var b bytes.Buffer
	b.WriteString("event: " + name + "\ndata: ")
	encoder := json.NewEncoder(&b) // ends the line
	encoder.SetEscapeHTML(false)
	if encoder.Encode(data) != nil {
		return nil // our types have no value that JSON lacks
	}
	b.WriteByte('\n')
	return b.Bytes()
}
