package terminal

import (
	"encoding/json"
	"io"
	"strings"
	"sync"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// Tokens prints what a prediction yields as it comes. It implements predict.Observer, which must not block as
// a terminal may: what has come is printed by its own goroutine.
type Tokens struct {
	screen *Screen
	to     io.Writer
	prints bool // what Observe gets
	lines  bool

	mu      sync.Mutex
	pending []byte
	closed  bool
	change  sync.Cond
	done    chan struct{}
	Printed bool // read it after finish
}

// NewTokens prints to to. prints means that Observe prints what is yielded, lines that each item is a line.
func NewTokens(s *Screen, to io.Writer, prints, lines bool) *Tokens {
	t := &Tokens{screen: s, to: to, prints: prints, lines: lines, done: make(chan struct{})}
	t.change.L = &t.mu
	go t.follow()
	return t
}

// Observe takes in what was yielded, and the progress.
func (t *Tokens) Observe(_ predict.Record, e predict.Event) {
	switch e.Kind {
	case predict.EventOutput:
		if t.prints {
			t.Add(e.Data)
		}
	case predict.EventMetric:
		t.Metric(e.Data)
	}
}

// Metric shows the progress, if a metric, as an event has it, is that.
func (t *Tokens) Metric(event []byte) {
	var m struct {
		Name  string `json:"name"`
		Value any    `json:"value"`
	}
	if json.Unmarshal(event, &m) == nil && m.Name == "progress" {
		if share, ok := m.Value.(float64); ok {
			t.screen.Done(share)
		}
	}
}

// Add takes one item in, which is JSON.
func (t *Tokens) Add(item []byte) {
	t.mu.Lock()
	t.pending = append(t.pending, token(item)...)
	if t.lines {
		t.pending = append(t.pending, '\n')
	}
	t.mu.Unlock()
	t.change.Signal()
}

// Finish returns when everything is printed.
func (t *Tokens) Finish() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.change.Signal()
	<-t.done
}

func (t *Tokens) follow() {
	defer close(t.done)
	for {
		t.mu.Lock()
		for len(t.pending) == 0 && !t.closed {
			t.change.Wait()
		}
		text := t.pending
		t.pending = nil
		t.mu.Unlock()
		if len(text) == 0 {
			return
		}
		t.Printed = true
		t.screen.Output(t.to, text)
	}
}

// Joined returns the text that the items of a list make together.
func Joined(list []byte) string {
	var text strings.Builder
	for _, item := range rawjson.Items(list) {
		text.WriteString(token(item))
	}
	return text.String()
}

func token(item []byte) string {
	if rawjson.KindOf(item) == rawjson.KindString {
		return rawjson.Text(item)
	}
	return string(item)
}
