package predict

import (
	"fmt"
	"testing"
	"time"

	"pinion/tests/assert"
)

// metricEvent is what a worker tells of a metric.
func metricEvent(name, value, mode string) []byte {
	return fmt.Appendf(nil, `{"name":%q,"value":%s,"mode":%q}`, name, value, mode)
}

func TestLiveMetrics_Modes(t *testing.T) {
	type events [][]byte
	set := func(name, value string) []byte { return metricEvent(name, value, "replace") }
	add := func(name, value string) []byte { return metricEvent(name, value, "increment") }
	push := func(name, value string) []byte { return metricEvent(name, value, "append") }
	for _, c := range []struct {
		what   string
		events events
		want   string
	}{
		{"none", nil, `{}`},
		{"replaced", events{set("a", "1"), set("b", `"x"`), set("a", "2.5")}, `{"a":2.5,"b":"x"}`},
		{"added", events{add("a", "9223372036854775807"), add("a", "1")}, `{"a":9223372036854775808}`},
		{"floats", events{add("a", "0.5"), add("a", "1.25")}, `{"a":1.75}`},
		{"appended", events{push("a", "1"), push("a", `[2,"x"]`), push("a", "[]"), push("a", "{}")}, `{"a":[1,[2,"x"],[],{}]}`},
		{
			"appended lists",
			events{push("a", "[1]"), push("a", "[2]"), set("b", "[1]"), push("b", "[2]")},
			`{"a":[[1],[2]],"b":[1,[2]]}`,
		},
		{"no finite number", events{
			set("gone", "1.5"), set("gone", "null"), push("list", "null"), push("list", "2.5"),
			add("sum", "null"), add("sum", "1.5"), add("sum", "null"),
		}, `{"list":[null,2.5],"sum":1.5}`},
		{"a sum out of range", events{add("a", "1e308"), add("a", "1e308"), add("a", "-1e308")}, `{"a":null}`},
		{"appended to a value", events{set("a", "1"), push("a", "2")}, `{"a":[1,2]}`},
		{"appended to a list", events{set("a", "[]"), push("a", "2")}, `{"a":[2]}`},
		{
			"nested",
			events{set("a.b", "1"), set("x", "true"), set("a.c.d", "2"), set("a.b", "3")},
			`{"a":{"b":3,"c":{"d":2}},"x":true}`,
		},
		{"the later one counts", events{set("a", "1"), set("a.b", "2"), set("ab", "3")}, `{"a":{"b":2},"ab":3}`},
		{"the later one counts, above", events{set("a.b", "2"), set("a", "1")}, `{"a":1}`},
		{"deleted", events{set("a", "1"), set("b.c", "2"), set("b", "null"), set("z", "null")}, `{"a":1}`},
		{"no event", events{set("", "1")}, `{}`},
	} {
		var l liveMetrics
		for _, e := range c.events {
			l = l.with(e)
		}
		assert.Equal(t, c.what, string(l.appendTo(nil)), c.want)
	}
}

func TestLiveMetrics_AreBounded(t *testing.T) {
	var l liveMetrics
	for i := range maxLive + 5 {
		l = l.with(metricEvent(fmt.Sprint("m", i), "1", "replace"))
	}
	l = l.with(metricEvent("m0", "2", "replace"))
	assert.Equal(t, "metrics", len(l), maxLive)
	assert.Equal(t, "the first", string(l[0].value), "2")
}

// TestLiveMetrics_RecordsKeepMetricsOfTheirMoment: what came later does not show in them.
func TestLiveMetrics_RecordsKeepMetricsOfTheirMoment(t *testing.T) {
	p := New("a", &Request{}, time.Now(), nil, Options{})
	p.Begin(time.Now())
	var seen []Record
	for _, e := range [][]byte{
		metricEvent("n", "1", "increment"), metricEvent("l", "1", "append"), metricEvent("n", "1", "increment"),
		metricEvent("l", "2", "append"), metricEvent("n", "null", "replace"),
	} {
		p.Metric(e)
		seen = append(seen, p.Record())
	}
	p.End(Result{Status: Succeeded, Metrics: []byte(`{"l":[1,2],"predict_time":0.1}`)}, time.Now())
	seen = append(seen, p.Record())
	var e Encoder
	for i, want := range []string{
		`{"n":1}`, `{"n":1,"l":[1]}`, `{"n":2,"l":[1]}`, `{"n":2,"l":[1,2]}`, `{"l":[1,2]}`,
		`{"l":[1,2],"predict_time":0.1}`,
	} {
		assert.Contains(t, fmt.Sprintf("record %d", i), string(e.AppendTail(nil, &seen[i])), `,"metrics":`+want+`,`)
	}
}
