package predict

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"pinion/runtime/rawjson"
)

// maxLive is how many metrics of a running prediction are shown; its final answer has all of them.
const maxLive = 1000

// liveMetrics are the metrics that a running prediction recorded so far, in order. At its end the worker sends the
// final metrics. Like all of a Record they are never overwritten: what grows is appended to.
type liveMetrics []liveMetric

type liveMetric struct {
	name  string
	value []byte // JSON
	open  bool   // value is a list in progress, which lacks its closing bracket
}

// size estimates how many bytes the metrics take.
func (l liveMetrics) size() int {
	n := 0
	for i := range l {
		n += 48 + len(l[i].name) + cap(l[i].value)
	}
	return n
}

// with returns the metrics after one more event, {"name":…,"value":…,"mode":…}. The worker has validated it.
func (l liveMetrics) with(event []byte) liveMetrics {
	var e struct {
		Name  string          `json:"name"`
		Value json.RawMessage `json:"value"`
		Mode  string          `json:"mode"`
	}
	if json.Unmarshal(event, &e) != nil || e.Name == "" || len(e.Value) == 0 {
		return l
	}
	below := e.Name + "."
	var next liveMetrics
	var previous *liveMetric
	at := -1
	for i := range l {
		switch m := &l[i]; {
		case m.name == e.Name:
			previous, at = m, len(next)
			next = append(next, *m)
		case strings.HasPrefix(m.name, below), strings.HasPrefix(e.Name, m.name+"."): // the new metric replaces these
		default:
			next = append(next, *m)
		}
	}
	none := string(e.Value) == "null"
	if none && e.Mode == "replace" { // deleted, or not a finite number
		return slices.DeleteFunc(next, func(m liveMetric) bool { return m.name == e.Name })
	}
	m := liveMetric{name: e.Name, value: e.Value}
	switch {
	case e.Mode == "append":
		m = m.appendedTo(previous)
	case e.Mode == "increment" && none: // not by a finite number, which counts as 0
		m.value = []byte{'0'}
		if previous != nil {
			m.value = previous.value
		}
	case e.Mode == "increment" && previous != nil:
		m.value = sum(previous.value, e.Value)
	}
	if previous != nil {
		next[at] = m
	} else if len(next) < maxLive {
		next = append(next, m)
	}
	return next
}

// appendedTo returns previous as a list with the value of m appended.
func (m liveMetric) appendedTo(previous *liveMetric) liveMetric {
	var list []byte
	switch {
	case previous == nil:
		list = []byte{'['}
	case previous.open:
		list = previous.value
	case previous.value[0] == '[':
		list = bytes.Clone(previous.value[:len(previous.value)-1])
	default:
		list = append([]byte{'['}, previous.value...)
	}
	list = rawjson.Comma(list, len(list) > 1)
	return liveMetric{name: m.name, value: append(list, m.value...), open: true}
}

// sum adds two numbers as Python does: integers of any size, or else floats. Beyond a double's range the sum is null,
// and remains so.
func sum(a, b []byte) []byte {
	if string(a) == "null" {
		return a
	}
	x, isInt := new(big.Int).SetString(string(a), 10)
	y, too := new(big.Int).SetString(string(b), 10)
	if isInt && too {
		return x.Add(x, y).Append(nil, 10)
	}
	f, _ := strconv.ParseFloat(string(a), 64)
	g, _ := strconv.ParseFloat(string(b), 64)
	text, err := json.Marshal(f + g)
	if err != nil {
		return []byte("null")
	}
	return text
}

// MetricsSoFar returns the metrics as JSON, also while the prediction runs. They are the caller's.
func (r *Record) MetricsSoFar() []byte {
	if r.Metrics != nil || len(r.live) == 0 {
		return slices.Clone(r.Metrics)
	}
	return r.live.appendTo(nil)
}

// appendTo appends the metrics as an object, nested by the dots in their names.
func (l liveMetrics) appendTo(dst []byte) []byte {
	dst = append(dst, '{')
	for i, m := range l {
		head, _, nested := strings.Cut(m.name, ".")
		inside := func(m liveMetric) bool { return strings.HasPrefix(m.name, head+".") }
		if nested && slices.ContainsFunc(l[:i], inside) {
			continue // already written
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(rawjson.AppendQuoted(dst, head), ':')
		if nested {
			var inner liveMetrics
			for _, m := range l[i:] {
				if inside(m) {
					m.name = m.name[len(head)+1:]
					inner = append(inner, m)
				}
			}
			dst = inner.appendTo(dst)
			continue
		}
		dst = append(dst, m.value...)
		if m.open {
			dst = append(dst, ']')
		}
	}
	return append(dst, '}')
}
