package slot

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMoves(t *testing.T) {
	legal := map[[2]state]bool{
		{fresh, queued}: true, {fresh, assigned}: true, {fresh, ended}: true, // refused by Submit
		{queued, assigned}: true, {queued, ended}: true,
		{assigned, queued}: true, // its worker died before the model had it
		{assigned, ended}:  true,
	}
	for from := fresh; from <= ended; from++ {
		for to := fresh; to <= ended; to++ {
			if got := canMove(from, to); got != legal[[2]state{from, to}] {
				t.Errorf("from %d to %d: %v", from, to, got)
			}
		}
	}
}

func TestList(t *testing.T) {
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
			if c.prev != before {
				t.Errorf("%s has the wrong neighbour", c.Name)
			}
		}
		if !slices.Equal(got, want) || l.tail != before || l.len != len(want) {
			t.Errorf("got %v of %d, want %v", got, l.len, want)
		}
	}
	check()
	for i, c := range calls {
		c.since = time.Unix(int64(i), 0)
	}
	l.pushBack(calls[1])
	l.pushBack(calls[2])
	l.putBack(calls[0])
	l.pushBack(calls[4])
	check(0, 1, 2, 4)
	l.putBack(calls[3])
	check(0, 1, 2, 3, 4)
	for _, c := range []int{2, 4, 0} {
		l.remove(calls[c])
	}
	check(1, 3)
	l.putBack(calls[4])
	check(1, 3, 4)
	for _, c := range []int{1, 4, 3} {
		l.remove(calls[c])
	}
	check()
	l.putBack(calls[4])
	check(4)
}

func TestLogsAreBounded(t *testing.T) {
	c := NewCall("a", nil, nil)
	for range 17 {
		c.addLogs("stdout", bytes.Repeat([]byte("x\n"), 1<<19))
	}
	c.addLogs("stdout", []byte("end"))
	logs := c.takeLogs()
	notice := "\n[1048579 bytes of log were cut: a prediction keeps 16 MiB of it]\n"
	if !strings.HasSuffix(string(logs), notice) || len(logs) != maxLogs+len(notice) {
		t.Errorf("%d bytes that end with %q", len(logs), logs[len(logs)-100:])
	}
}
