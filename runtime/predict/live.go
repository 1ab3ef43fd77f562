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

// maxLive is how many metrics of a running prediction are shown; its answer has all of them.
const maxLive = 1000

// live is what a prediction recorded so far, in order: what its metrics are while it runs. At its end the worker
// tells them itself. As all that a Record has it is not written once it is shown; what grows is appended to.
type live []liveMetric

type liveMetric struct {
	name  string
	value []byte // JSON
	open  bool   // value is a list in progress, which lacks its closing bracket
}

// size is about how many bytes the metrics take.
func (l live) size() int {
	n := 0
	for i := range l {
		n += 48 + len(l[i].name) + cap(l[i].value)
	}
	return n
}

// with is the metrics after one more event: {"name":…,"value":…,"mode":…}. The worker has checked it.
func (l live) with(event []byte) live {
	var e struct {
		Name  string          `json:"name"`
		Value json.RawMessage `json:"value"`
		Mode  string          `json:"mode"`
	}
	if json.Unmarshal(event, &e) != nil || e.Name == "" || len(e.Value) == 0 {
		return l
	}
	below := e.Name + "."
	var next live
	var held *liveMetric
	at := -1
	for i := range l {
		switch m := &l[i]; {
		case m.name == e.Name:
			held, at = m, len(next)
			next = append(next, *m)
		case strings.HasPrefix(m.name, below), strings.HasPrefix(e.Name, m.name+"."): // of these the later one counts
		default:
			next = append(next, *m)
		}
	}
	none := string(e.Value) == "null"
	if none && e.Mode == "replace" { // deleted, or no finite number
		if held != nil {
			next = slices.Delete(next, at, at+1)
		}
		return next
	}
	m := liveMetric{name: e.Name, value: e.Value}
	switch {
	case e.Mode == "append":
		m = m.appendedTo(held)
	case e.Mode == "increment" && none: // by no finite number, which counts as 0
		m.value = []byte{'0'}
		if held != nil {
			m.value = held.value
		}
	case e.Mode == "increment" && held != nil:
		m.value = sum(held.value, e.Value)
	}
	if held != nil {
		next[at] = m
	} else if len(next) < maxLive {
		next = append(next, m)
	}
	return next
}

// appendedTo is held with the value of m as one item more at its end.
func (m liveMetric) appendedTo(held *liveMetric) liveMetric {
	var list []byte
	switch {
	case held == nil:
		list = []byte{'['}
	case held.open:
		list = held.value
	case held.value[0] == '[':
		list = bytes.Clone(held.value[:len(held.value)-1])
	default:
		list = append([]byte{'['}, held.value...)
	}
	if len(list) > 1 {
		list = append(list, ',')
	}
	return liveMetric{name: m.name, value: append(list, m.value...), open: true}
}

// sum adds two numbers as Python does: integers of any size, or else floats. Out of a double's range it is null, and stays so.
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

// appendTo appends the metrics as an object, nested by the dots in their names.
func (l live) appendTo(dst []byte) []byte {
	dst = append(dst, '{')
	for i, m := range l {
		head, _, nested := strings.Cut(m.name, ".")
		inside := func(m liveMetric) bool { return strings.HasPrefix(m.name, head+".") }
		if nested && slices.ContainsFunc(l[:i], inside) {
			continue // it is written already
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(rawjson.AppendQuoted(dst, head), ':')
		if nested {
			var inner live
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
