package predict

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func enter(t *testing.T, r *Registry, kind Kind, id string) *Prediction {
	t.Helper()
	p := New(id, Request{ID: id, Kind: kind}, epoch, nil, Options{})
	if err := r.Add(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEndedArekept: for their time, and no longer; and their ids are free at once.
func TestEndedAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry(Retention{TTL: time.Minute})
		p := enter(t, r, KindPrediction, "a")
		idle := r.Idle()
		select {
		case <-idle:
			t.Error("one is in flight")
		default:
		}
		r.Finish(p, 10)
		<-idle
		if r.Get(KindPrediction, "a") != nil || r.Find(KindPrediction, "a") != p || r.Len() != 0 || len(r.All()) != 0 {
			t.Error("it is in flight, or not to be found")
		}
		time.Sleep(59 * time.Second)
		again := enter(t, r, KindPrediction, "a")
		if r.Find(KindPrediction, "a") != again || r.Get(KindPrediction, "a") != again {
			t.Error("the new one of that id is not found")
		}
		time.Sleep(2 * time.Second)
		if r.Find(KindPrediction, "a") != again {
			t.Error("with the old one, the new one went")
		}
		r.Finish(again, 10)
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if r.bytes != 0 || len(r.by) != 0 || r.Find(KindPrediction, "a") != nil {
			t.Errorf("%d bytes, %d entries are left", r.bytes, len(r.by))
		}
	})
}

// TestRetentionIsBounded in number and in bytes.
func TestRetentionIsBounded(t *testing.T) {
	r := NewRegistry(Retention{TTL: time.Hour, Count: 100, Bytes: 1000})
	defer r.Close()
	for i := range 1000 {
		r.Finish(enter(t, r, KindPrediction, fmt.Sprint(i)), 1)
	}
	if len(r.by) != 100 || r.Find(KindPrediction, "899") != nil || r.Find(KindPrediction, "900") == nil {
		t.Errorf("%d are kept", len(r.by))
	}
	r.Finish(enter(t, r, KindPrediction, "big"), 950)
	if r.Find(KindPrediction, "big") == nil || r.bytes > 1000 || len(r.by) != 51 {
		t.Errorf("%d bytes in %d are kept", r.bytes, len(r.by))
	}
	r.Finish(enter(t, r, KindPrediction, "huge"), 1001)
	if r.Find(KindPrediction, "huge") != nil || r.Find(KindPrediction, "big") == nil {
		t.Error("one that never fits drove the others out")
	}
	r.Close()
	if len(r.by) != 0 || r.bytes != 0 {
		t.Error("closed, it keeps some")
	}
}

// TestAnonymousOnesAreFew: they do not drive the others out.
func TestAnonymousOnesAreFew(t *testing.T) {
	r := NewRegistry(Retention{Anonymous: 10})
	defer r.Close()
	r.Finish(enter(t, r, KindPrediction, "named"), 1)
	for i := range 1000 {
		p := New(fmt.Sprint(i), Request{}, epoch, nil, Options{})
		if err := r.Add(p); err != nil {
			t.Fatal(err)
		}
		r.Finish(p, 1)
	}
	if len(r.by) != 11 || r.Find(KindPrediction, "named") == nil || r.Find(KindPrediction, "990") == nil {
		t.Errorf("%d are kept", len(r.by))
	}
	if n := cap(r.shelves[0].kept); n > 512 {
		t.Errorf("the shelf has %d places", n)
	}
}

// TestKindsHaveTheirOwnIDs.
func TestKindsHaveTheirOwnIDs(t *testing.T) {
	r := NewRegistry(Retention{TTL: -1})
	p, q := enter(t, r, KindPrediction, "a"), enter(t, r, KindTraining, "a")
	if r.Get(KindPrediction, "a") != p || r.Get(KindTraining, "a") != q || r.Len() != 2 {
		t.Error("they are mixed up")
	}
	r.Finish(p, 0)
	if r.Find(KindPrediction, "a") != nil || r.Find(KindTraining, "a") != q {
		t.Error("nothing is to be kept, or the wrong one went")
	}
}
