package metrics

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

type page struct {
	b    []byte
	open bool // OpenMetrics
}

func (p *page) family(f *Family) {
	name := f.Name
	if p.open && f.Kind == Counter {
		name = strings.TrimSuffix(name, "_total")
	}
	p.b = append(append(append(append(append(p.b, "# HELP "...), name...), ' '), f.Help...), '\n')
	p.b = append(append(append(append(append(p.b, "# TYPE "...), name...), ' '), f.Kind...), '\n')
	for i := range f.Samples {
		s := &f.Samples[i]
		labels := labelText(s.Labels)
		switch f.Kind {
		case Histogram:
			p.histogram(f.Name, labels, s.Histogram)
		case Summary:
			p.summary(f.Name, labels, s.Summary)
		case Counter:
			p.count(f.Name, labels, s.Value)
		default:
			p.float(f.Name, labels, s.Value)
		}
	}
}

// maxWhole is the largest count that is written with all its digits: beyond it a float skips some numbers.
const maxWhole = 1 << 53

func (p *page) count(name, labels string, v float64) {
	if v != math.Trunc(v) || v > maxWhole {
		p.float(name, labels, v)
		return
	}
	p.begin(name, labels)
	p.b = strconv.AppendUint(p.b, uint64(v), 10)
	if p.open {
		p.b = append(p.b, ".0"...)
	}
	p.b = append(p.b, '\n')
}

// whole adds a sample that counts observations.
func (p *page) whole(name, labels string, n uint64) {
	p.begin(name, labels)
	p.b = append(strconv.AppendUint(p.b, n, 10), '\n')
}

func (p *page) float(name, labels string, v float64) {
	p.begin(name, labels)
	p.b = append(appendFloat(p.b, v, p.open), '\n')
}

func (p *page) histogram(name, labels string, d *Distribution) {
	le := d.bounds.text
	if p.open {
		le = d.bounds.open
	}
	count := uint64(0)
	for i, n := range d.Counts {
		count += n
		p.begin(name+"_bucket", join(labels, le[i]))
		p.b = strconv.AppendUint(p.b, count, 10)
		if p.open && d.Exemplars != nil && d.Exemplars[i] != nil {
			p.exemplar(d.Exemplars[i])
		}
		p.b = append(p.b, '\n')
	}
	p.float(name+"_sum", labels, d.Sum)
	p.whole(name+"_count", labels, d.Count)
}

// exemplar adds an exemplar to the sample before it.
func (p *page) exemplar(e *Exemplar) {
	p.b = hex.AppendEncode(append(p.b, ` # {trace_id="`...), e.Trace.Trace[:])
	p.b = hex.AppendEncode(append(p.b, `",span_id="`...), e.Trace.Span[:])
	p.b = append(appendFloat(append(p.b, `"} `...), e.Value, true), ' ')
	p.b = strconv.AppendFloat(p.b, float64(e.At.UnixMilli())/1e3, 'f', 3, 64)
}

func (p *page) summary(name, labels string, o *Observations) {
	for _, q := range o.Quantiles {
		p.float(name, join(labels, `quantile="`+string(appendFloat(nil, q.Part, p.open))+`"`), q.Value)
	}
	p.float(name+"_sum", labels, o.Sum)
	p.whole(name+"_count", labels, o.Count)
}

func (p *page) begin(name, labels string) {
	p.b = append(p.b, name...)
	if labels != "" {
		p.b = append(append(append(p.b, '{'), labels...), '}')
	}
	p.b = append(p.b, ' ')
}

func (p *page) end() {
	if p.open {
		p.b = append(p.b, "# EOF\n"...)
	}
}

// appendFloat appends a number in the page's format: OpenMetrics requires a point or an exponent.
func appendFloat(b []byte, v float64, open bool) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, "NaN"...)
	case math.IsInf(v, 1):
		return append(b, "+Inf"...)
	case math.IsInf(v, -1):
		return append(b, "-Inf"...)
	}
	at := len(b)
	b = strconv.AppendFloat(b, v, 'g', -1, 64)
	if open && !strings.ContainsAny(string(b[at:]), ".e") {
		b = append(b, ".0"...)
	}
	return b
}

func labelText(labels []Label) string {
	if len(labels) == 0 {
		return ""
	}
	var b strings.Builder
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	for i, l := range labels {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(l.Name + `="` + escape.Replace(strings.ToValidUTF8(l.Value, "\uFFFD")) + `"`)
	}
	return b.String()
}

func join(labels, more string) string {
	if labels == "" {
		return more
	}
	return labels + "," + more
}
