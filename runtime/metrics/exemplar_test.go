package metrics

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/types/known/timestamppb"

	"pinion/runtime/predict"
	"pinion/runtime/trace"
	"pinion/tests/assert"
)

// aTrace returns a span of a trace.
func aTrace(n byte) *trace.Context {
	return &trace.Context{Trace: trace.ID{15: n}, Span: trace.SpanID{7: n}, Sampled: true}
}

// TestExemplars_AreWrittenAsPrometheusOwnLibraryDoes: in OpenMetrics only, the latest of each bucket.
func TestExemplars_AreWrittenAsPrometheusOwnLibraryDoes(t *testing.T) {
	s := New(Options{})
	for i, predicted := range []time.Duration{3 * time.Second, 20 * time.Microsecond, 4 * time.Second} {
		s.Ended(predict.End{
			Status: predict.Succeeded, Times: predict.Times{Total: time.Hour, Predict: predicted}, Trace: aTrace(byte(i)),
		})
	}
	// its trace is not sampled
	s.Ended(predict.End{Status: predict.Succeeded, Times: predict.Times{Total: time.Hour, Predict: 5 * time.Second}})
	const name = "pinion_predict_seconds"
	text := lines(s, name)
	assert.False(t, strings.Contains(text, "trace_id"), "the text format has no exemplars, want no \"trace_id\" in it:\n%s", text)
	_, page := s.Write(accepts["openmetrics"])
	theirs := &dto.MetricFamily{Name: new(name), Help: new("h"), Type: dto.MetricType_HISTOGRAM.Enum()}
	h := &dto.Histogram{SampleCount: new(uint64(4)), SampleSum: new(12.00002)}
	d := sumOf(s.predictions.predict[:]...)
	count := uint64(0)
	for i, bound := range d.Bounds() {
		count += d.Counts[i]
		b := &dto.Bucket{UpperBound: new(bound), CumulativeCount: new(count)}
		if e := d.Exemplars[i]; e != nil {
			b.Exemplar = &dto.Exemplar{
				Label: []*dto.LabelPair{
					{Name: new("trace_id"), Value: new(e.Trace.Trace.String())},
					{Name: new("span_id"), Value: new(e.Trace.Span.String())},
				},
				Value: new(e.Value), Timestamp: timestamppb.New(e.At.Truncate(time.Millisecond)),
			}
		}
		h.Bucket = append(h.Bucket, b)
	}
	theirs.Metric = []*dto.Metric{{Histogram: h}}
	var want bytes.Buffer
	assert.NoError(t, expfmt.NewEncoder(&want, expfmt.NewFormat(expfmt.TypeOpenMetrics)).Encode(theirs))
	got := 0
	for line := range strings.SplitSeq(want.String(), "\n") {
		if !strings.Contains(line, "trace_id") {
			continue
		}
		got++
		assert.False(t, !bytes.Contains(page, []byte(line)) && !bytes.Contains(page, []byte(withMillis(line))),
			"the page lacks: got %.300q, want with %q or with %q\n%s", page, []byte(line), []byte(withMillis(line)), line)
	}
	assert.Equal(t, "value", got, 2)
	assert.Equal(t, "trace of the first exemplar", d.Exemplars[0].Trace, *aTrace(1))
}

// withMillis gives an exemplar's time the three digits that ours always has.
func withMillis(line string) string {
	at := strings.LastIndexByte(line, ' ')
	var seconds float64
	fmt.Sscan(line[at+1:], &seconds)
	return fmt.Sprintf("%s %.3f", line[:at], seconds)
}

func TestExemplar_TimesOfOutputs(t *testing.T) {
	s := New(Options{})
	s.FirstOutput(time.Second, aTrace(1))
	s.NextOutput(10 * time.Millisecond)
	s.NextOutput(30 * time.Millisecond)
	wantLines(t, s,
		"pinion_time_to_first_output_seconds_count 1",
		"pinion_time_to_first_output_seconds_sum 1",
		"pinion_time_per_output_seconds_count 2",
		"pinion_time_per_output_seconds_sum 0.04",
	)
}

// TestExemplar_TimesOfAllEndsAreOneHistogram: they are kept apart by status, and shown together.
func TestExemplar_TimesOfAllEndsAreOneHistogram(t *testing.T) {
	s := New(Options{})
	for i, status := range []predict.Status{predict.Succeeded, predict.Failed, predict.Canceled} {
		s.Ended(predict.End{
			Status: status, Reason: predict.ReasonCrash, Times: predict.Times{Total: time.Second}, Trace: aTrace(byte(i)),
		})
	}
	f := s.predictions.total[predict.KindPrediction]
	d := sumOf(f[:]...)
	assert.Equal(t, "count", d.Count, 3)
	assert.Equal(t, "sum", d.Sum, 3)
	for i, e := range d.Exemplars {
		if e != nil && e.Trace != *aTrace(2) {
			t.Errorf("bucket %d shows trace %v, which is not the latest, want %+v", i, e.Trace, *aTrace(2))
		}
	}
	if got, want := lines(s, "pinion_prediction_duration_seconds_count"),
		"pinion_prediction_duration_seconds_count 3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestExemplar_IsReplacedAfterASecond: and at once where the clock was set back.
func TestExemplar_IsReplacedAfterASecond(t *testing.T) {
	h := newTimes()
	at := time.Unix(1_700_000_000, 0)
	for i, c := range []struct {
		after time.Duration
		want  byte
	}{{0, 0}, {999 * time.Millisecond, 0}, {time.Second, 2}, {-time.Hour, 3}} {
		h.observeIn(time.Minute, aTrace(byte(i)), at.Add(c.after))
		for _, e := range sumOf(h).Exemplars {
			assert.True(t, e == nil || e.Trace == *aTrace(c.want), "after %v: got %+v, want trace %d", c.after, e, c.want)
		}
	}
}
