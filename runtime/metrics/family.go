package metrics

import (
	"cmp"
	"slices"
	"time"

	"pinion/runtime/trace"
)

type Kind string

const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
	Summary   Kind = "summary"
	UpDown    Kind = "updown" // a sum that may fall; not on the page
)

type Family struct {
	Name, Help string // Help has no backslash and no line break
	Kind       Kind
	Unit       string // in UCUM; "" means as the name says
	Samples    []Sample
}

// Sample is what a metric is for one combination of labels.
type Sample struct {
	Labels    []Label
	Value     float64       // of a counter or a gauge
	Histogram *Distribution // of a histogram
	Summary   *Observations // of a summary
}

type Label struct{ Name, Value string }

// Observations is the count and the sum of observations, and their quantiles, if any.
type Observations struct {
	Count     uint64
	Sum       float64
	Quantiles []Quantile
}

// Quantile is a value of which a part, 0 to 1, of the observations is not above.
type Quantile struct{ Part, Value float64 }

// Distribution is a histogram at one moment.
type Distribution struct {
	bounds    *bounds
	Counts    []uint64 // of each bucket alone; the last one is above all bounds
	Count     uint64   // the sum of Counts
	Sum       float64
	Exemplars []*Exemplar // the latest of each bucket, nil for none; empty means no bucket has one
}

// Bounds returns the upper bounds of the buckets, without infinity. Do not write to them.
func (d *Distribution) Bounds() []float64 { return d.bounds.values }

// Exemplar is an observation in a sampled trace.
type Exemplar struct {
	Trace trace.Context
	Value float64
	At    time.Time
}

type gathered []Family

// family begins a family whose name says its unit.
func (g *gathered) family(name string, kind Kind, help string) { g.familyIn("", name, kind, help) }

// familyIn begins a family in that unit.
func (g *gathered) familyIn(unit, name string, kind Kind, help string) {
	*g = append(*g, Family{Name: name, Kind: kind, Help: help, Unit: unit})
}

// sample adds a sample to the newest family.
func (g *gathered) sample(s Sample) {
	f := &(*g)[len(*g)-1]
	f.Samples = append(f.Samples, s)
}

// sort puts the samples of the newest family in the order of their labels.
func (g *gathered) sort() {
	slices.SortFunc((*g)[len(*g)-1].Samples, func(a, b Sample) int {
		return slices.CompareFunc(a.Labels, b.Labels, func(a, b Label) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
		})
	})
}

// dropEmpty removes the newest family if it has no sample.
func (g *gathered) dropEmpty() {
	if newest := len(*g) - 1; len((*g)[newest].Samples) == 0 {
		*g = (*g)[:newest]
	}
}

// value adds a counter's or gauge's value to the newest family. labels are pairs of names and values.
func (g *gathered) value(v float64, labels ...string) {
	g.sample(Sample{Labels: pairs(labels...), Value: v})
}

func (g *gathered) gauge(name, help string, v float64) {
	g.family(name, Gauge, help)
	g.value(v)
}

func (g *gathered) counter(name, help string, n uint64) {
	g.family(name, Counter, help)
	g.value(float64(n))
}

// histogram adds histograms with the same bounds together, without labels.
func (g *gathered) histogram(name, help string, parts ...*histogram) {
	g.family(name, Histogram, help)
	g.sample(Sample{Histogram: sumOf(parts...)})
}

// pairs makes labels of pairs of names and values.
func pairs(of ...string) []Label {
	if len(of) == 0 {
		return nil
	}
	labels := make([]Label, 0, len(of)/2)
	for i := 0; i+1 < len(of); i += 2 {
		labels = append(labels, Label{of[i], of[i+1]})
	}
	return labels
}
