package predict

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
)

// metricEvent is what a worker tells of a metric.
func metricEvent(name, value, mode string) []byte {
	return fmt.Appendf(nil, `{"name":%q,"value":%s,"mode":%q}`, name, value, mode)
}

func TestLiveMetrics_Modes(t *testing.T) {
	for _, c := range []struct {
		what   string
		events [][3]string
		want   string
	}{
		{"none", nil, `{}`},
		{
			"replaced",
			[][3]string{{"a", "1", "replace"}, {"b", `"x"`, "replace"}, {"a", "2.5", "replace"}},
			`{"a":2.5,"b":"x"}`,
		},
		{
			"added",
			[][3]string{{"a", "9223372036854775807", "increment"}, {"a", "1", "increment"}},
			`{"a":9223372036854775808}`,
		},
		{"floats", [][3]string{{"a", "0.5", "increment"}, {"a", "1.25", "increment"}}, `{"a":1.75}`},
		{"appended", [][3]string{
			{"a", "1", "append"},
			{"a", `[2,"x"]`, "append"},
			{"a", "[]", "append"},
			{"a", "{}", "append"},
		}, `{"a":[1,[2,"x"],[],{}]}`},
		{
			"appended lists",
			[][3]string{
				{"a", "[1]", "append"},
				{"a", "[2]", "append"},
				{"b", "[1]", "replace"},
				{"b", "[2]", "append"},
			},
			`{"a":[[1],[2]],"b":[1,[2]]}`,
		},
		{
			"no finite number",
			[][3]string{
				{"gone", "1.5", "replace"},
				{"gone", "null", "replace"},
				{"list", "null", "append"},
				{"list", "2.5", "append"},
				{"sum", "null", "increment"},
				{"sum", "1.5", "increment"},
				{"sum", "null", "increment"},
			},
			`{"list":[null,2.5],"sum":1.5}`,
		},
		{"a sum out of range", [][3]string{
			{"a", "1e308", "increment"},
			{"a", "1e308", "increment"},
			{"a", "-1e308", "increment"},
		}, `{"a":null}`},
		{"appended to a value", [][3]string{{"a", "1", "replace"}, {"a", "2", "append"}}, `{"a":[1,2]}`},
		{"appended to a list", [][3]string{{"a", "[]", "replace"}, {"a", "2", "append"}}, `{"a":[2]}`},
		{
			"nested",
			[][3]string{
				{"a.b", "1", "replace"},
				{"x", "true", "replace"},
				{"a.c.d", "2", "replace"},
				{"a.b", "3", "replace"},
			},
			`{"a":{"b":3,"c":{"d":2}},"x":true}`,
		},
		{
			"the later one counts",
			[][3]string{{"a", "1", "replace"}, {"a.b", "2", "replace"}, {"ab", "3", "replace"}},
			`{"a":{"b":2},"ab":3}`,
		},
		{"the later one counts, above", [][3]string{{"a.b", "2", "replace"}, {"a", "1", "replace"}}, `{"a":1}`},
		{"deleted", [][3]string{
			{"a", "1", "replace"},
			{"b.c", "2", "replace"},
			{"b", "null", "replace"},
			{"z", "null", "replace"},
		}, `{"a":1}`},
		{"no event", [][3]string{{"", "1", "replace"}}, `{}`},
	} {
		var l liveMetrics
		for _, e := range c.events {
			l = l.with(metricEvent(e[0], e[1], e[2]))
		}
		assert.Equal(t, c.what, string(l.appendTo(nil)), c.want)
	}
}

func TestLiveMetrics_AreBounded(t *testing.T) {
	var l liveMetrics
	for i := range maxLive + 5 {
		l = l.with(metricEvent(fmt.Sprint("m", i), "1", "replace"))
	}
	if l = l.with(metricEvent("m0", "2", "replace")); len(l) != maxLive || string(l[0].value) != "2" {
		t.Fatalf("%d metrics, the first is %s, want len(l) %d and value 2", len(l), l[0].value, maxLive)
	}
}

// TestLiveMetrics_RecordsKeepMetricsOfTheirMoment: what came later does not show in them.
func TestLiveMetrics_RecordsKeepMetricsOfTheirMoment(t *testing.T) {
	p := New("a", &Request{}, time.Now(), nil, Options{})
	p.Begin(time.Now())
	var seen []Record
	for _, e := range [][3]string{
		{"n", "1", "increment"},
		{"l", "1", "append"},
		{"n", "1", "increment"},
		{"l", "2", "append"},
		{"n", "null", "replace"},
	} {
		p.Metric(metricEvent(e[0], e[1], e[2]))
		seen = append(seen, p.Record())
	}
	p.End(Result{Status: Succeeded, Metrics: []byte(`{"l":[1,2],"predict_time":0.1}`)}, time.Now())
	seen = append(seen, p.Record())
	var e Encoder
	for i, want := range []string{
		`{"n":1}`, `{"n":1,"l":[1]}`, `{"n":2,"l":[1]}`, `{"n":2,"l":[1,2]}`, `{"l":[1,2]}`,
		`{"l":[1,2],"predict_time":0.1}`,
	} {
		if got := string(e.AppendTail(nil, &seen[i])); !strings.Contains(got, `,"metrics":`+want+`,`) {
			t.Errorf("record %d: %s has no %s, want it to contain %q", i, got, want, `,"metrics":`+want+`,`)
		}
	}
}
