package modelhost

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/tests/assert"
)

func ago(seconds int) time.Time { return time.Unix(1000-int64(seconds), 0) }

func TestEviction_ChooseEvicted(t *testing.T) {
	holders := []Holder{
		{Name: "old", Memory: 3, Idle: true, Used: ago(30)},
		{Name: "new", Memory: 2, Idle: true, Used: ago(10)},
		{Name: "busy", Memory: 4, Used: ago(50)},
	}
	for _, c := range []struct {
		need, bound int64
		want        []string
		refused     bool
	}{
		{need: 100, bound: 0},
		{need: 1, bound: 10},
		{need: 2, bound: 10, want: []string{"old"}},
		{need: 4, bound: 10, want: []string{"old"}},
		{need: 5, bound: 10, want: []string{"old", "new"}},
		{need: 6, bound: 10, want: []string{"old", "new"}},
		{need: 7, bound: 10, refused: true},
		{need: 11, bound: 10, refused: true},
	} {
		got, err := chooseEvicted("x", c.need, c.bound, holders)
		assert.True(t, slices.Equal(got, c.want) && (err != nil) == c.refused,
			"%d of %d: %q, %v; want %q", c.need, c.bound, got, err, c.want)
	}
	got, err := chooseEvicted("busy", 5, 10, holders)
	assert.True(t, err == nil && len(got) == 0, "what a model has itself counts against it: %q, %v", got, err)
}

func TestEviction_NoRoomError(t *testing.T) {
	_, err := chooseEvicted("x", 3<<30, 4<<30,
		[]Holder{{Name: "a", Memory: 2 << 30}, {Name: "b", Memory: 100 << 20, Idle: true}})
	var no *NoRoomError
	if !errors.As(err, &no) || err.Error() != "x needs 3.0 GiB of the 4.0 GiB that the models may have together, and a has 2.0 GiB and cannot be unloaded now" {
		t.Error(err)
	}
	_, err = chooseEvicted("x", 300<<20, 200<<20, nil)
	if err == nil || err.Error() != "x needs 300 MiB of the 200 MiB that the models may have together" {
		t.Error(err)
	}
}

// TestChooseEvicted_Fits: the models that stay and the new one fit into the bound; only idle models are evicted, and no
// more than necessary.
func TestChooseEvicted_Fits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound, need := rapid.Int64Range(1, 100).Draw(t, "bound"), rapid.Int64Range(0, 100).Draw(t, "need")
		var holders []Holder
		var idle, busy int64
		for i := range rapid.IntRange(0, 6).Draw(t, "models") {
			h := Holder{
				Name: string(rune('a' + i)), Memory: rapid.Int64Range(0, 40).Draw(t, "memory"),
				Idle: rapid.Bool().Draw(t, "idle"), Used: ago(rapid.IntRange(0, 9).Draw(t, "used")),
			}
			if holders = append(holders, h); h.Idle {
				idle += h.Memory
			} else {
				busy += h.Memory
			}
		}
		out, err := chooseEvicted("x", need, bound, holders)
		if (err != nil) != (busy+need > bound) {
			t.Fatalf("%v with %d busy, want %t", err, busy, busy+need > bound)
		}
		if err != nil {
			return
		}
		left, last := idle+busy, int64(0)
		for _, name := range out {
			h := holders[name[0]-'a']
			if !h.Idle {
				t.Fatalf("%s goes, and is not idle", name)
			}
			left, last = left-h.Memory, h.Memory
		}
		if len(out) > 0 && (left+need > bound || left+last+need <= bound) || len(out) == 0 && left+need > bound {
			t.Fatalf("%q go, %d stay, and %d come, want as few as make them fit into %d", out, left, need, bound)
		}
	})
}
