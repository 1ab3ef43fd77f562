package predict

import (
	"testing"
	"time"

	"pinion/tests/assert"
)

// TestEncoder_Objects: each form of the prediction object, byte for byte.
func TestEncoder_Objects(t *testing.T) {
	at := epoch.Add(1500 * time.Microsecond)
	for _, c := range []struct {
		rec  Record
		want string
	}{
		{
			Record{ID: "a", Created: epoch},
			`{"id":"a","status":"starting","logs":"","metrics":{},"created_at":"2026-11-21T09:30:00.000000Z"}`,
		},
		{
			Record{
				ID: `q"`, Input: []byte(`{"s":1}`), Created: epoch,
				Progress: Progress{Status: Processing, Output: []byte("[1"), Open: true, Started: at, Logs: []byte("é\xff")},
			},
			`{"id":"q\"","input":{"s":1},"status":"processing","output":[1],"logs":"é�","metrics":{},"created_at":"2026-11-21T09:30:00.000000Z","started_at":"2026-11-21T09:30:00.001500Z"}`,
		},
		{
			Record{
				ID: "a", Created: epoch, CreatedText: "2026-11-21T10:30:00+01:00", Version: "v",
				Progress: Progress{Status: Succeeded, Metrics: []byte(`{"predict_time":1}`)},
			},
			`{"id":"a","status":"succeeded","output":null,"logs":"","metrics":{"predict_time":1},"version":"v","created_at":"2026-11-21T10:30:00+01:00"}`,
		},
		{
			Record{ID: "a", Created: epoch, Progress: Progress{Status: Failed, Error: "", Started: epoch, Completed: at}},
			`{"id":"a","status":"failed","error":"","logs":"","metrics":{"predict_time":0.0015},"created_at":"2026-11-21T09:30:00.000000Z","started_at":"2026-11-21T09:30:00.000000Z","completed_at":"2026-11-21T09:30:00.001500Z"}`,
		},
		{
			Record{ID: "a", Created: epoch, Progress: Progress{Status: Canceled, Completed: at}},
			`{"id":"a","status":"canceled","logs":"","metrics":{"predict_time":0},"created_at":"2026-11-21T09:30:00.000000Z","completed_at":"2026-11-21T09:30:00.001500Z"}`,
		},
	} {
		var e Encoder
		assert.Equal(t, "encoded record", string(e.Append(nil, &c.rec)), c.want)
	}
}
