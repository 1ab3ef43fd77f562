package telemetry

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// dashboard is what there is to check of a Grafana dashboard.
type dashboard struct {
	Title      string `json:"title"`
	UID        string `json:"uid"`
	Templating struct {
		List []struct {
			Name  string          `json:"name"`
			Query json.RawMessage `json:"query"`
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct {
		X, Y, W, H int
	} `json:"gridPos"`
	Datasource struct {
		Type string `json:"type"`
	} `json:"datasource"`
	Targets []struct {
		RefID  string `json:"refId"`
		Expr   string `json:"expr"`
		Legend string `json:"legendFormat"`
	} `json:"targets"`
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text := harness.ReadFile(t, "../deploy/observability/grafana/dashboards/pinion.json")
	var d dashboard
	harness.FromJSON(t, text, &d)
	return d
}

// seldom are the families that only some models, machines or requests bring about.
var seldom = map[string][]string{
	"pinion_batch_size":                     {},
	"pinion_batch_wait_seconds":             {},
	"pinion_method_batch_size":              {"method"},
	"pinion_method_batch_wait_seconds":      {"method"},
	"pinion_method_batch_seconds":           {"method"},
	"pinion_gpu_memory_used_bytes":          {"gpu"},
	"pinion_gpu_memory_total_bytes":         {"gpu"},
	"pinion_gpu_utilization_ratio":          {"gpu"},
	"pinion_grpc_requests_total":            {"code", "method"},
	"pinion_grpc_request_duration_seconds":  {"code", "method"},
	"pinion_telemetry_dropped_total":        {"signal"},
	"pinion_trainings_total":                {"mode", "reason", "status"},
	"pinion_mirrored_predictions_total":     {"result"},
	"pinion_mirrored_predict_seconds_total": {"of"},
	"pinion_training_duration_seconds":      {},
	"pinion_rank_memory_bytes":              {"rank", "worker"},
	"pinion_rank_cpu_seconds_total":         {"rank", "worker"},
	"pinion_stream_sessions":                {},
	"pinion_stream_items_total":             {"direction"},
	"pinion_stream_bytes_total":             {"direction"},
}

// added are the labels that Prometheus itself gives every series, the buckets' one, those that the dashboard makes, and
// that of several models.
var added = []string{"job", "instance", "le", "__name__", "value", "model"}

var (
	metricName = regexp.MustCompile(`\b(?:pinion|go|process)_[a-z0-9_]+`)
	nameMatch  = regexp.MustCompile(`__name__=~"([^"]+)"`)
	matcher    = regexp.MustCompile(`([a-z_]+)(?:=|=~|!=|!~)"`)
	grouping   = regexp.MustCompile(`\bby \(([^)]*)\)`)
	legend     = regexp.MustCompile(`\{\{([a-z_]+)\}\}`)
	quoted     = regexp.MustCompile(`"[^"]*"`)
)

// TestDashboard_AsksForWhatIsServed: each name and label in the dashboard is one that the server has, and each name
// that the server has is in the dashboard.
func TestDashboard_AsksForWhatIsServed(t *testing.T) {
	t.Parallel()
	served, labels := servedMetrics(t)
	seen := map[string]bool{}
	check := func(what, expr, legendText string) {
		for _, m := range nameMatch.FindAllStringSubmatch(expr, -1) {
			assert.True(t, servesSample(served, m[1]),
				"%s: no metric's name is like %s, want servesSample(served, m[1]) true", what, m[1])
		}
		var known []string
		for _, name := range metricName.FindAllString(quoted.ReplaceAllString(expr, `""`), -1) {
			family := familyOf(labels, name)
			if family == "" {
				t.Errorf(`%s: there is no metric %s: got "", want some text`, what, name)
				continue
			}
			seen[family] = true
			known = append(known, labels[family]...)
		}
		for _, label := range labelsUsed(expr, legendText) {
			assert.True(t, slices.Contains(known, label) || slices.Contains(added, label),
				"%s: none of its metrics has a label %s, want it there", what, label)
		}
	}
	d := readDashboard(t)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			check(p.Title+" "+target.RefID, target.Expr, target.Legend)
		}
	}
	for _, v := range d.Templating.List {
		var query struct{ Query string }
		_ = json.Unmarshal(v.Query, &query) // that of the data source's variable is a word
		check("variable "+v.Name, query.Query, "")
	}
	for name := range labels {
		assert.True(t, !strings.HasPrefix(name, "pinion_") || strings.HasPrefix(name, "pinion_model_") || seen[name],
			`the dashboard does not show %s, want not starting with "pinion_" or starting with "pinion_model_"`, name)
	}
}

// servedMetrics are a server's metrics, and the labels of each, those that are seldom served included.
func servedMetrics(t *testing.T) (served harness.MetricFamilies, labels map[string][]string) {
	t.Helper()
	s := harness.Ready(t, harness.Options{
		Dir: meteredModel(t), Model: "metered.py:Runner", Args: []string{"--nats", "embed:" + t.TempDir(), "--model", "m"},
	})
	s.Succeed(harness.Input{"tokens": 1})
	served, labels = harness.Scrape(t, s), map[string][]string{}
	for name, family := range served {
		labels[name] = labelsOf(family)
	}
	for name, of := range seldom {
		if labels[name] == nil {
			labels[name] = of
		}
	}
	return served, labels
}

// TestDashboard_DocumentListsWhatIsServed: docs/reference/metrics.md has a row for each metric of ours, with its type
// and its labels.
func TestDashboard_DocumentListsWhatIsServed(t *testing.T) {
	t.Parallel()
	text := harness.ReadFile(t, "../docs/reference/metrics.md")
	served, labels := servedMetrics(t)
	listed := map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| `pinion_") || len(cells) < 5 {
			continue
		}
		for _, name := range metricName.FindAllString(cells[1], -1) {
			listed[name] = true
			if labels[name] == nil {
				t.Errorf("the document lists %s, which is not served", name)
				continue
			}
			if kind := strings.ToLower(served[name].GetType().String()); served[name] != nil &&
				kind != strings.TrimSpace(cells[2]) {
				t.Errorf("the document says that %s is a%s, and it is a %s, want %q", name, cells[2], kind,
					strings.TrimSpace(cells[2]))
			}
			var of []string
			for label := range strings.SplitSeq(cells[3], ",") {
				if label = strings.TrimSpace(label); label != "" {
					of = append(of, label)
				}
			}
			if slices.Sort(of); !slices.Equal(of, slices.Sorted(slices.Values(labels[name]))) {
				t.Errorf("the document gives %s the labels %q, and it has %q, want %q", name, of, labels[name],
					slices.Sorted(slices.Values(labels[name])))
			}
		}
	}
	for name := range labels {
		assert.True(t, !strings.HasPrefix(name, "pinion_") || strings.HasPrefix(name, "pinion_model_") || listed[name] ||
			name == "pinion_dropped_model_values_total", "the document does not list %s, want every metric of pinion", name)
	}
}

func labelsOf(family *dto.MetricFamily) []string {
	names := []string{}
	for _, m := range family.GetMetric() {
		for _, l := range m.GetLabel() {
			if !slices.Contains(names, l.GetName()) {
				names = append(names, l.GetName())
			}
		}
	}
	return names
}

// labelsUsed are the labels that an expression and its legend name.
func labelsUsed(expr, legendText string) (names []string) {
	for _, m := range matcher.FindAllStringSubmatch(expr, -1) {
		names = append(names, m[1])
	}
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	for _, m := range legend.FindAllStringSubmatch(legendText, -1) {
		names = append(names, m[1])
	}
	return names
}

// familyOf is the family that a sample's name belongs to, or "" for none.
func familyOf(families map[string][]string, name string) string {
	for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
		base, cut := strings.CutSuffix(name, suffix)
		if _, known := families[base]; cut && known {
			return base
		}
	}
	return ""
}

// servesSample reports whether a sample's name matches a pattern.
func servesSample(served harness.MetricFamilies, pattern string) bool {
	re := regexp.MustCompile("^(?:" + pattern + ")$")
	for name, family := range served {
		if re.MatchString(name) || family.GetType() == dto.MetricType_SUMMARY &&
			(re.MatchString(name+"_sum") || re.MatchString(name+"_count")) {
			return true
		}
	}
	return false
}

// TestDashboard_IsWellMade: what Grafana does not refuse, and shows wrong.
func TestDashboard_IsWellMade(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	assert.True(t, d.Title != "" && d.UID != "" && len(d.Panels) >= 20,
		"title %q, uid %q, %d panels, want non-empty, non-empty and at least 20", d.Title, d.UID, len(d.Panels))
	ids := map[int]bool{}
	for i, p := range d.Panels {
		assert.True(t, p.ID != 0 && !ids[p.ID],
			"%s: its id %d is not its own, want ID not 0 and ids[p.ID] false", p.Title, p.ID)
		ids[p.ID] = true
		assert.True(t, (p.Type == "row") == (len(p.Targets) == 0) && p.Title != "",
			"panel %d, %q: a %s with %d queries, want a title, and queries unless it is a row", p.ID, p.Title, p.Type,
			len(p.Targets))
		at := p.GridPos
		assert.True(t, at.W >= 1 && at.H >= 1 && at.X >= 0 && at.X+at.W <= 24,
			"%s: it lies at %+v, want W at least 1, H at least 1, X at least 0 and at.X+at.W at most 24", p.Title, at)
		for _, o := range d.Panels[:i] {
			with := o.GridPos
			assert.True(t, at.X >= with.X+with.W || with.X >= at.X+at.W || at.Y >= with.Y+with.H || with.Y >= at.Y+at.H,
				"%s lies over %s: got %d, want at least %d", p.Title, o.Title, with.Y, at.Y+at.H)
		}
		for _, target := range p.Targets {
			bare := quoted.ReplaceAllString(target.Expr, "")
			for _, pair := range []string{"()", "{}", "[]"} {
				assert.Equal(t, p.Title+": its brackets "+pair, strings.Count(bare, pair[:1]), strings.Count(bare, pair[1:]))
			}
			assert.True(t, p.Datasource.Type != "prometheus" ||
				strings.Contains(target.Expr, `job=~"$job",instance=~"$instance"`),
				"%s: it shows all servers: %s, want it to contain %q", p.Title, target.Expr, `job=~"$job",instance=~"$instance"`)
		}
	}
}

// TestDashboard_ChoosesModel: each query of metrics that a server with several models has for each of them asks
// for the model that is chosen, and no other query does.
func TestDashboard_ChoosesModel(t *testing.T) {
	t.Parallel()
	s, _ := harness.StartTwoModels(t)
	for _, model := range []string{"a", "b"} {
		harness.SaidBy(t, harness.PredictBy(s, model, harness.Input{}))
	}
	served := harness.Scrape(t, s)
	compared := 0
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			asks := strings.Contains(target.Expr, `,model=~"$model"`)
			for _, name := range metricName.FindAllString(quoted.ReplaceAllString(target.Expr, `""`), -1) {
				family := served[name]
				for _, suffix := range []string{"_bucket", "_sum", "_count"} {
					if base, cut := strings.CutSuffix(name, suffix); cut && family == nil {
						family = served[base]
					}
				}
				if family == nil {
					continue // not served here
				}
				compared++
				assert.Equal(t, p.Title+": whether it asks for the model as "+name+" has one",
					slices.Contains(labelsOf(family), "model"), asks)
			}
		}
	}
	assert.True(t, compared >= 50, "%d metrics were compared, want at least 50", compared)
}
