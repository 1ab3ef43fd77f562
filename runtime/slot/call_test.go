package slot

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/runtime/logtext"
	"pinion/tests/assert"
)

// TestCall_Moves walks every pair of states: a move that the table allows is one that the package makes, and any other
// is refused and counted.
func TestCall_Moves(t *testing.T) {
	made := map[[2]state]func(p *Pool, s *Slot, c *Call){
		{fresh, queued}:   func(p *Pool, _ *Slot, c *Call) { p.enqueue(c, false, time.Now()) },
		{fresh, assigned}: func(_ *Pool, s *Slot, c *Call) { s.assign(c) },
		{fresh, ended}:    func(p *Pool, _ *Slot, c *Call) { p.end(c, Result{}) },
		{queued, assigned}: func(p *Pool, s *Slot, c *Call) {
			p.dequeue(c)
			s.assign(c)
		},
		{queued, ended}:        func(p *Pool, _ *Slot, c *Call) { p.end(c, Result{}) },
		{assigned, unassigned}: func(_ *Pool, s *Slot, c *Call) { s.takeBack(c) },
		{unassigned, queued}:   func(p *Pool, _ *Slot, c *Call) { p.requeue(c, time.Now()) },
		{unassigned, assigned}: func(_ *Pool, s *Slot, c *Call) { s.assign(c) },
		{unassigned, ended}:    func(p *Pool, _ *Slot, c *Call) { p.end(c, Result{}) },
	}
	path := map[state][]state{queued: {queued}, assigned: {assigned}, unassigned: {assigned, unassigned}, ended: {ended}}
	for from := fresh; from <= ended; from++ {
		for to := fresh; to <= ended; to++ {
			p := NewPool(Options{})
			s := newWorker(t, p, 1).slots[0]
			c := NewCall("a", nil, nil)
			c.pool = p
			at := fresh
			for _, next := range path[from] {
				made[[2]state{at, next}](p, s, c)
				at = next
			}
			move, legal := made[[2]state{from, to}]
			if !legal {
				move = func(*Pool, *Slot, *Call) { c.moveTo(to) }
			}
			assert.TrueNow(t, c.state == from && p.illegalMoves == 0,
				"on the way to %d: state %d, %d illegal moves, want %d and 0", from, c.state, p.illegalMoves, from)
			move(p, s, c)
			switch {
			case legal && (c.state != to || p.illegalMoves != 0):
				t.Errorf("from %d to %d: state %d, %d illegal moves, want %d and 0", from, to, c.state, p.illegalMoves, to)
			case !legal && (c.state != from || p.illegalMoves != 1):
				t.Errorf("the table allows an unknown move from %d to %d, want it refused and counted", from, to)
			}
			if c.state != ended { // a worker's exit waits for its calls
				p.end(c, Result{})
			}
		}
	}
}

func TestCall_List(t *testing.T) {
	calls := make([]*Call, 5)
	for i := range calls {
		calls[i] = NewCall(fmt.Sprint(i), nil, nil)
	}
	var l list
	check := func(want ...int) {
		t.Helper()
		var got []int
		var before *Call
		for c := l.head; c != nil; before, c = c, c.next {
			got = append(got, slices.Index(calls, c))
			assert.Equal(t, c.Name+" has the wrong neighbour", c.prev, before)
		}
		assert.True(t, slices.Equal(got, want) && l.tail == before && l.len == len(want), "got %v of %d, want %v", got, l.len, want)
	}
	check()
	for i, c := range calls {
		c.since = time.Unix(int64(i), 0)
	}
	l.pushBack(calls[1])
	l.pushBack(calls[2])
	l.insertByArrival(calls[0])
	l.pushBack(calls[4])
	check(0, 1, 2, 4)
	l.insertByArrival(calls[3])
	check(0, 1, 2, 3, 4)
	for _, c := range []int{2, 4, 0} {
		l.remove(calls[c])
	}
	check(1, 3)
	l.insertByArrival(calls[4])
	check(1, 3, 4)
	for _, c := range []int{1, 4, 3} {
		l.remove(calls[c])
	}
	check()
	l.insertByArrival(calls[4])
	check(4)
}

func TestCall_LogsAreBounded(t *testing.T) {
	c := NewCall("a", nil, nil)
	for range 17 {
		c.addLogs("stdout", bytes.Repeat([]byte("x\n"), 1<<19))
	}
	c.addLogs("stdout", []byte("end"))
	logs := c.logs.take()
	notice := "\n[1048579 bytes of log were cut: 16 MiB of it are kept]\n"
	if !strings.HasSuffix(string(logs), notice) || len(logs) != logtext.Max+len(notice) {
		t.Errorf("%d bytes that end with %q, want logs ending in %q and len(logs) %d bytes", len(logs), logs[len(logs)-100:],
			notice, logtext.Max+len(notice))
	}
}
