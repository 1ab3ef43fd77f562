package predict

import (
	"testing"

	"pinion/tests/assert"
)

// TestStatus_Moves walks every pair of statuses. Begin and End are the only moves that production code makes, so each
// is tried from every status.
func TestStatus_Moves(t *testing.T) {
	legal := map[[2]Status]bool{
		{Starting, Processing}: true,
		{Starting, Succeeded}:  true, {Starting, Failed}: true, {Starting, Canceled}: true,
		{Processing, Succeeded}: true, {Processing, Failed}: true, {Processing, Canceled}: true,
	}
	assert.Moves(t, statuses, legal, func(from, to Status) (bool, Status) {
		at := from
		return at.move(to), at
	})
	assert.Moves(t, statuses, legal, func(from, to Status) (moved bool, now Status) {
		p := New("a", &Request{}, epoch, nil, Options{})
		p.record.Status = from
		switch to {
		case Starting: // no method moves there
		case Processing:
			moved = p.Begin(epoch)
		default:
			moved = p.End(Result{Status: to}, epoch)
		}
		return moved, p.Record().Status
	})
}

func TestStatus_Words(t *testing.T) {
	for s, c := range map[Status]struct {
		word     string
		terminal bool
	}{
		Starting: {"starting", false}, Processing: {"processing", false},
		Succeeded: {"succeeded", true}, Failed: {"failed", true}, Canceled: {"canceled", true},
		statuses: {"unknown", false},
	} {
		assert.True(t, s.String() == c.word && s.Terminal() == c.terminal,
			"%d is %q, an end: %v; want %q, %v", s, s, s.Terminal(), c.word, c.terminal)
	}
	var none Status
	assert.Equal(t, "the zero value", none, Starting)
}
