package metrics

import (
	"math"
	"strconv"
	"strings"
)

// The types of a family.
const (
	typeCounter   = "counter"
	typeGauge     = "gauge"
	typeHistogram = "histogram"
	typeSummary   = "summary"
)

// page is the text of the metrics page.
type page struct {
	b    []byte
	open bool // OpenMetrics
}

// family begins a family. help has no backslash and no line break.
func (p *page) family(name, kind, help string) {
	if p.open && kind == typeCounter {
		name = strings.TrimSuffix(name, "_total")
	}
	p.b = append(append(append(append(append(p.b, "# HELP "...), name...), ' '), help...), '\n')
	p.b = append(append(append(append(append(p.b, "# TYPE "...), name...), ' '), kind...), '\n')
}

// count adds a sample of a counter.
func (p *page) count(name, labels string, n uint64) {
	p.begin(name, labels)
	p.b = strconv.AppendUint(p.b, n, 10)
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

// float adds a sample.
func (p *page) float(name, labels string, v float64) {
	p.begin(name, labels)
	p.b = append(appendFloat(p.b, v, p.open), '\n')
}

// gauge adds a gauge, with these labels if any.
func (p *page) gauge(name, help string, v float64) {
	p.family(name, typeGauge, help)
	p.float(name, "", v)
}

func (p *page) begin(name, labels string) {
	p.b = append(p.b, name...)
	if labels != "" {
		p.b = append(append(append(p.b, '{'), labels...), '}')
	}
	p.b = append(p.b, ' ')
}

// end ends the page.
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

// labels returns pairs of names and values in the format between the braces.
func labels(pairs ...string) string {
	var b strings.Builder
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(pairs[i] + `="` + escape.Replace(strings.ToValidUTF8(pairs[i+1], "\uFFFD")) + `"`)
	}
	return b.String()
}

// join adds a label.
func join(labels, more string) string {
	if labels == "" {
		return more
	}
	return labels + "," + more
}
