package telemetry

import (
	"context"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"pinion/runtime/metrics"
)

// producer turns metrics into OpenTelemetry's data, whenever they are sent: recording them stays as it is.
//
// All that the page shows has the same name and unit here, and times are cumulative. Beside it are the metrics that
// OpenTelemetry and Cog have names for.
type producer struct {
	set     MetricSet
	version string // of the server
}

// MetricSet is what is needed of a metrics.Set, or of several.
type MetricSet interface {
	Started() time.Time
	Gather() []metrics.Family
	GatherConventional() []metrics.Family
}

var _ sdkmetric.Producer = producer{}

func (p producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	c := conversion{start: p.set.Started(), now: time.Now()}
	var produced []metricdata.Metrics
	for _, families := range [][]metrics.Family{p.set.Gather(), p.set.GatherConventional()} {
		for i := range families {
			if f := &families[i]; len(f.Samples) > 0 {
				produced = append(produced, c.metric(f))
			}
		}
	}
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: scope, Version: p.version}, Metrics: produced}},
		nil
}

// conversion is the time that all data of one export has.
type conversion struct{ start, now time.Time }

func (c conversion) metric(f *metrics.Family) metricdata.Metrics {
	m := metricdata.Metrics{Name: f.Name, Description: f.Help, Unit: f.Unit}
	if m.Unit == "" {
		m.Unit = unitOf(f.Name)
	}
	switch f.Kind {
	case metrics.Counter, metrics.UpDown:
		m.Data = metricdata.Sum[float64]{
			DataPoints: c.values(f, c.start), Temporality: metricdata.CumulativeTemporality,
			IsMonotonic: f.Kind == metrics.Counter,
		}
	case metrics.Histogram:
		m.Data = metricdata.Histogram[float64]{DataPoints: c.histograms(f), Temporality: metricdata.CumulativeTemporality}
	case metrics.Summary:
		m.Data = metricdata.Summary{DataPoints: c.summaries(f)}
	default:
		m.Data = metricdata.Gauge[float64]{DataPoints: c.values(f, time.Time{})}
	}
	return m
}

func (c conversion) values(f *metrics.Family, start time.Time) []metricdata.DataPoint[float64] {
	points := make([]metricdata.DataPoint[float64], len(f.Samples))
	for i, s := range f.Samples {
		points[i] = metricdata.DataPoint[float64]{
			Attributes: attributes(s.Labels), StartTime: start, Time: c.now,
			Value: s.Value,
		}
	}
	return points
}

func (c conversion) histograms(f *metrics.Family) []metricdata.HistogramDataPoint[float64] {
	points := make([]metricdata.HistogramDataPoint[float64], len(f.Samples))
	for i, s := range f.Samples {
		h := s.Histogram
		points[i] = metricdata.HistogramDataPoint[float64]{
			Attributes: attributes(s.Labels), StartTime: c.start, Time: c.now,
			Count: h.Count, Bounds: h.Bounds(), BucketCounts: h.Counts, Sum: h.Sum,
		}
		for _, e := range h.Exemplars {
			if e != nil {
				points[i].Exemplars = append(points[i].Exemplars, metricdata.Exemplar[float64]{
					Time: e.At, Value: e.Value, TraceID: e.Trace.Trace[:], SpanID: e.Trace.Span[:],
				})
			}
		}
	}
	return points
}

func (c conversion) summaries(f *metrics.Family) []metricdata.SummaryDataPoint {
	points := make([]metricdata.SummaryDataPoint, len(f.Samples))
	for i, s := range f.Samples {
		points[i] = metricdata.SummaryDataPoint{
			Attributes: attributes(s.Labels), StartTime: c.start, Time: c.now, Count: s.Summary.Count, Sum: s.Summary.Sum,
		}
		for _, q := range s.Summary.Quantiles {
			points[i].QuantileValues = append(points[i].QuantileValues,
				metricdata.QuantileValue{Quantile: q.Part, Value: q.Value})
		}
	}
	return points
}

func attributes(labels []metrics.Label) attribute.Set {
	list := make([]attribute.KeyValue, len(labels))
	for i, l := range labels {
		list[i] = attribute.String(l.Name, l.Value)
		if l.Name == metrics.StatusCode {
			code, _ := strconv.Atoi(l.Value) // it was made from a number
			list[i] = attribute.Int(l.Name, code)
		}
	}
	return attribute.NewSet(list...)
}

// unitOf returns the unit that a name ends in.
func unitOf(name string) string {
	name = strings.TrimSuffix(name, "_total")
	for _, u := range [...]struct{ end, unit string }{{"_seconds", "s"}, {"_bytes", "By"}, {"_ratio", "1"}} {
		if strings.HasSuffix(name, u.end) {
			return u.unit
		}
	}
	return ""
}
