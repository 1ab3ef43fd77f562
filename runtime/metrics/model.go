package metrics

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"pinion/runtime/rawjson"
)

// maxName bounds the length of a model's metric name, and maxDepth its nesting. The cog package allows 128 characters
// and 4 parts.
const (
	maxName  = 128
	maxDepth = 8
)

// model holds the metrics that the model recorded: for each name, how many predictions recorded it, and their sum.
type model struct {
	names   table[string, summary]
	dropped counter
}

// summary is one name's count and sum. They are not added atomically: a reader may see only one of them.
type summary struct {
	count counter
	sum   atomic.Uint64 // the bits of a float64
}

func (s *summary) observe(v float64) {
	for {
		old := s.sum.Load()
		if s.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			break
		}
	}
	s.count.Add(1)
}

// isOurs reports whether the server records the metric, in each prediction or in those of batches.
func isOurs(key string) bool {
	return key == "predict_time" || key == "batch_size" || key == "queue_time" || key == "method_batches"
}

// Recorded adds the numbers in a prediction's metrics, a JSON object, except the server's. A number in nested objects
// has their names, joined by underscores.
func (s *Set) Recorded(metrics []byte) {
	var name [maxName]byte
	s.model.object(name[:0], metrics, 0, s.o.MaxModel)
}

func (m *model) object(name, object []byte, depth, most int) {
	for key, value := range rawjson.Members(object) {
		if depth == 0 && isOurs(string(key)) {
			continue
		}
		kind := rawjson.KindOf(value)
		if kind != rawjson.KindNumber && kind != rawjson.KindObject {
			continue
		}
		full, fits := appendName(name, key)
		switch {
		case !fits || kind == rawjson.KindObject && depth == maxDepth:
			m.dropped.Add(1)
		case kind == rawjson.KindObject:
			m.object(full, value, depth+1, most)
		default:
			m.number(full, value, most)
		}
	}
}

// appendName appends a part of a name, with underscores for invalid characters. It does not grow the slice; false means
// there is no room.
func appendName(name, key []byte) ([]byte, bool) {
	if len(name)+1+len(key) > cap(name) {
		return nil, false
	}
	if len(name) > 0 {
		name = append(name, '_')
	}
	at := len(name)
	name = rawjson.AppendText(name, key) // never longer than the key
	for i := at; i < len(name); i++ {
		if c := name[i]; c-'0' >= 10 && c|0x20-'a' >= 26 {
			name[i] = '_'
		}
	}
	return name, true
}

// number adds one number. It ignores negative ones, because Prometheus requires sums that never fall.
func (m *model) number(name, value []byte, most int) {
	v, err := strconv.ParseFloat(string(value), 64)
	if err != nil || v < 0 {
		m.dropped.Add(1)
		return
	}
	s := m.names.snapshot()[string(name)]
	if s == nil && !m.taken(string(name)) {
		s = m.names.add(string(name), most, nil)
	}
	if s == nil {
		m.dropped.Add(1)
		return
	}
	s.observe(v)
}

// taken reports whether a new name collides with a series of another name: "tokens_count" and "tokens". Two names that
// are added at the same moment may both pass, and are then ambiguous.
func (m *model) taken(name string) bool {
	summaries := m.names.snapshot()
	for _, suffix := range []string{"_sum", "_count"} {
		if base, cut := strings.CutSuffix(name, suffix); cut && summaries[base] != nil || summaries[name+suffix] != nil {
			return true
		}
	}
	return false
}

func (m *model) gather(g *gathered) {
	summaries := m.names.snapshot()
	for _, name := range slices.SortedFunc(maps.Keys(summaries), cmp.Compare[string]) {
		g.family("pinion_model_"+name, Summary, "Recorded by the model.")
		g.sample(Sample{Summary: &Observations{
			Count: summaries[name].count.Load(),
			Sum:   math.Float64frombits(summaries[name].sum.Load()),
		}})
	}
	g.counter("pinion_dropped_model_values_total",
		"Numbers recorded by the model that are not shown: negative, or with too many, too long or ambiguous names.",
		m.dropped.Load())
}
