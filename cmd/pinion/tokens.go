package main

import (
	"io"
	"sync"

	"pinion/runtime/predict"
)

// tokens prints what a prediction yields as it comes. It implements predict.Observer, which must not block as
// a terminal may: what has come is printed by a goroutine of its own.
type tokens struct {
	screen *screen
	to     io.Writer

	mu      sync.Mutex
	pending []byte
	closed  bool
	change  sync.Cond
	done    chan struct{}
	printed bool // read it after finish
}

func newTokens(s *screen, to io.Writer) *tokens {
	t := &tokens{screen: s, to: to, done: make(chan struct{})}
	t.change.L = &t.mu
	go t.follow()
	return t
}

// Observe takes in what was yielded.
func (t *tokens) Observe(_ predict.Record, e predict.Event) {
	if e.Kind == predict.EventOutput {
		t.add(e.Data)
	}
}

// add takes one item in, which is JSON.
func (t *tokens) add(item []byte) {
	t.mu.Lock()
	t.pending = append(t.pending, token(item)...)
	t.mu.Unlock()
	t.change.Signal()
}

// finish returns when everything is printed.
func (t *tokens) finish() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.change.Signal()
	<-t.done
}

func (t *tokens) follow() {
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
		if !t.printed {
			t.printed = true
			t.screen.hide()
		}
		t.to.Write(text) // a terminal that is gone ends the command by its own signal
	}
}
