package predict

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pinion/runtime/logtext"
	"pinion/tests/assert"
)

// observed returns a prediction that emits events.
func observed(o Options) *Prediction {
	return New("a", &Request{ID: "a", Mode: Stream}, epoch, &runner{}, o)
}

// text returns an event in a line.
func text(e Event) string {
	return fmt.Sprintf("%d %d %s %s", e.Kind, e.Index, e.Source, e.Data)
}

// drain reads a subscription to its end.
func drain(t *testing.T, s *Subscription) (events []string, err error) {
	t.Helper()
	for {
		var got []Event
		got, err = s.Next(make([]Event, 0, 3), nil)
		for _, e := range got {
			events = append(events, text(e))
		}
		if err != nil {
			return events, err
		}
	}
}

// watcher records the events it receives.
type watcher struct {
	events  []string
	records []Record
}

func (w *watcher) Observe(rec Record, e Event) {
	w.events = append(w.events, text(e))
	w.records = append(w.records, rec)
}

func (w *watcher) outputs() []string {
	var list []string
	for _, rec := range w.records {
		out := string(rec.Output)
		if rec.Open {
			out += "]"
		}
		list = append(list, out)
	}
	return list
}

// TestEvents_EveryEventIsEmitted to an early subscriber, a late one and the observers, in one order.
func TestEvents_EveryEventIsEmitted(t *testing.T) {
	p := observed(Options{})
	var w watcher
	p.Watch(&w)
	first := assert.Must(p.Subscribe())(t)
	p.Begin(epoch)
	p.Log("stdout", []byte("hello\n"))
	p.Output([]byte(`"x"`))
	p.Metric([]byte(`{"name":"n"}`))
	p.Output([]byte(`"y"`))
	late := assert.Must(p.Subscribe())(t)
	p.End(Result{Status: Succeeded, Yielded: true, Metrics: []byte("{}")}, epoch)
	want := []string{"0 0  ", "2 0 stdout hello\n", `1 0  "x"`, `3 0  {"name":"n"}`, `1 1  "y"`, "4 0  "}
	for name, s := range map[string]*Subscription{"first": first, "late": late} {
		got, err := drain(t, s)
		assert.True(t, slices.Equal(got, want) && errors.Is(err, io.EOF), "%s got %q, %v, want %q and io.EOF", name, got, err, want)
	}
	assert.EqualSlices(t, "the observer", w.events, want)
	// Each record it saw is unchanged.
	assert.EqualSlices(t, "outputs of the records",
		w.outputs(), []string{"", "", `["x"]`, `["x"]`, `["x","y"]`, `["x","y"]`})
	rec := p.Record()
	assert.True(t, string(rec.Output) == `["x","y"]` && !rec.Open && string(rec.Logs) == "hello\n",
		"the record is %+v, want Output %q, Open false and Logs %q", rec, `["x","y"]`, "hello\n")
}

// TestEvents_OutputOfWhatEndsBadly: what was yielded stays, and the list is closed.
func TestEvents_OutputOfWhatEndsBadly(t *testing.T) {
	for _, status := range []Status{Failed, Canceled} {
		p := observed(Options{})
		p.Begin(epoch)
		p.Output([]byte("1"))
		p.End(Result{Status: status, Error: "e"}, epoch)
		if rec := p.Record(); string(rec.Output) != "[1]" || rec.Open {
			t.Errorf(`%s: %s, open: %v, want Output "[1]" and Open false`, status, rec.Output, rec.Open)
		}
	}
	p := observed(Options{})
	p.End(Result{Status: Succeeded, Yielded: true}, epoch)
	assert.Equal(t, "the output where nothing was yielded", string(p.Record().Output), "[]")
	p.Output([]byte("2"))
	p.Log("stdout", []byte("late"))
	if rec := p.Record(); string(rec.Output) != "[]" || len(rec.Logs) > 0 {
		t.Errorf(`after its end it became %s, %q, want Output "[]" and len(Logs) empty`, rec.Output, rec.Logs)
	}
}

// TestEvents_ReturnedOutputIsEvent: observers get the output as an event.
func TestEvents_ReturnedOutputIsEvent(t *testing.T) {
	p := observed(Options{})
	var w watcher
	p.Watch(&w)
	p.End(Result{Status: Succeeded, Output: []byte("7")}, epoch)
	assert.EqualSlices(t, "events", w.events, []string{"1 0  7", "4 0  "})
}

// TestEvents_ReplayIsBounded by the history, and says how much is gone.
func TestEvents_ReplayIsBounded(t *testing.T) {
	for _, c := range []struct {
		history int
		events  int
		replay  uint64 // skipped
	}{{0, 1024, 0}, {0, 1025, 1}, {0, 5000, 5000 - 1024}, {10, 10, 0}, {10, 12, 2}, {4000, 4000, 0}, {4000, 4001, 1}} {
		p := observed(Options{History: c.history})
		for i := range c.events {
			p.Output(fmt.Append(nil, i))
		}
		s := assert.Must(p.Subscribe())(t)
		p.End(Result{Status: Succeeded, Yielded: true}, epoch)
		got, err := drain(t, s)
		var missed *MissedError
		switch {
		case c.replay > 0:
			if !errors.As(err, &missed) || !missed.Replay || missed.Skipped != c.replay || len(got) > 0 {
				t.Errorf("%+v: %d events, %v, want an error of type *MissedError, Replay true, Skipped %d and len(got) empty", c,
					len(got), err, c.replay)
			}
		case !errors.Is(err, io.EOF) || len(got) != c.events+1:
			t.Errorf("%+v: %d events, %v, want error io.EOF and len(got) %d", c, len(got), err, c.events+1)
		}
	}
}

// TestEvents_NoReplay: without a history a subscriber gets the events from then on, or the last one of a prediction
// that ended.
func TestEvents_NoReplay(t *testing.T) {
	p := observed(Options{History: -1})
	first := assert.Must(p.Subscribe())(t)
	p.Begin(epoch)
	p.Output([]byte("1"))
	late := assert.Must(p.Subscribe())(t)
	p.Output([]byte("2"))
	p.End(Result{Status: Succeeded, Yielded: true}, epoch)
	last := assert.Must(p.Subscribe())(t)
	for _, c := range []struct {
		s    *Subscription
		want []string
	}{
		{first, []string{"0 0  ", "1 0  1", "1 1  2", "4 0  "}},
		{late, []string{"1 1  2", "4 0  "}},
		{last, []string{"4 0  "}},
	} {
		got, err := drain(t, c.s)
		assert.True(t, slices.Equal(got, c.want) && errors.Is(err, io.EOF), "got %q, %v, want %q", got, err, c.want)
	}
}

// TestEvents_SlowSubscriber: one that lags by more than its buffer gets a *MissedError, and Output does not wait for it
// again.
func TestEvents_SlowSubscriber(t *testing.T) {
	p := observed(Options{})
	slow, _ := p.Subscribe()
	quick, _ := p.Subscribe()
	p.Begin(epoch)
	if got, err := slow.Next(make([]Event, 0, 1), nil); len(got) != 1 || err != nil {
		t.Fatalf("got %v %v, want 1", got, err)
	}
	seen := 0
	for i := range 1500 {
		p.Output(fmt.Append(nil, i))
		if i%100 == 0 {
			got, err := quick.Next(make([]Event, 0, 2000), nil)
			if seen += len(got); err != nil {
				t.Fatal(err)
			}
		}
	}
	var missed *MissedError
	if got, err := slow.Next(make([]Event, 0, 10), nil); !errors.As(err, &missed) || missed.Replay ||
		missed.Skipped != 1500-1024 || len(got) > 0 {
		t.Errorf("%d events, %v, want an error of type *MissedError, Replay false, Skipped %d and len(got) empty", len(got),
			err, 1500-1024)
	}
	p.End(Result{Status: Succeeded, Yielded: true}, epoch)
	rest, err := drain(t, quick)
	if seen += len(rest); seen != 1502 || !errors.Is(err, io.EOF) {
		t.Errorf("the quick one saw %d, %v, want 1502 and io.EOF", seen, err)
	}
}

// TestEvents_QuickSubscriberKeepsUp with a model that is faster than its turns come: it is waited for.
func TestEvents_QuickSubscriberKeepsUp(t *testing.T) {
	const outputs = 200_000
	for range 10 { // a subscriber that a busy machine keeps from running is not quick
		p := observed(Options{})
		s, err := p.Subscribe()
		assert.NoError(t, err)
		ended := make(chan error)
		seen := 0
		go func() {
			for {
				got, err := s.Next(make([]Event, 0, 256), nil)
				if seen += len(got); err != nil {
					ended <- err
					return
				}
			}
		}()
		for i := range outputs {
			p.Output(fmt.Append(nil, i))
		}
		p.End(Result{Status: Succeeded, Yielded: true}, epoch)
		if err = <-ended; errors.Is(err, io.EOF) && seen == outputs+1 {
			return
		}
		t.Logf("%d events, %v", seen, err)
	}
	t.Errorf("got a subscriber that lags in each try, want one with %d events and io.EOF", outputs+1)
}

// TestEvents_LogsAreBounded, and what was cut is said.
func TestEvents_LogsAreBounded(t *testing.T) {
	p := observed(Options{})
	line := []byte(strings.Repeat("x", 1<<20))
	for range 20 {
		p.Log("stdout", line)
	}
	p.End(Result{Status: Succeeded}, epoch)
	logs := p.Record().Logs
	if want := "\n[4194304 bytes of log were cut: 16 MiB of it are kept]\n"; len(logs) != logtext.Max+len(want) ||
		!strings.HasSuffix(string(logs), want) {
		t.Errorf("%d bytes, ending in %q, want len(logs) %d bytes and logs ending in %q", len(logs), logs[len(logs)-80:],
			logtext.Max+len(want), want)
	}
}

func TestEvents_Done(t *testing.T) {
	p := observed(Options{})
	done := p.Done()
	select {
	case <-done:
		t.Fatal("Done is closed before the end, want it open")
	default:
	}
	p.End(Result{Status: Failed}, epoch)
	<-done
	<-p.Done()
	late := observed(Options{})
	late.End(Result{Status: Failed}, epoch)
	<-late.Done()
}

// TestEvents_Holds: what it held is given back with the last release.
func TestEvents_Holds(t *testing.T) {
	p := observed(Options{})
	given := 0
	p.OnRelease(func() { given++ })
	p.Hold()
	p.Release()
	assert.Equal(t, "held", given, 0)
	s, _ := p.Subscribe()
	p.End(Result{Status: Succeeded}, epoch)
	p.Release()
	assert.Equal(t, "times given back", given, 1)
	if got, err := drain(t, s); len(got) != 1 || !errors.Is(err, io.EOF) {
		t.Errorf("who followed it got %q, %v, want len(got) 1 and error io.EOF", got, err)
	}
	after := assert.Must(p.Subscribe())(t)
	if got, err := drain(t, after); len(got) != 1 || !errors.Is(err, io.EOF) {
		t.Errorf("who came after all got %q, %v, want len(got) 1 and error io.EOF", got, err)
	}
	p.Cancel() // it has ended: nothing
}
