package modelhost

import (
	"fmt"
	"testing"

	"pinion/tests/assert"
)

// TestState_Moves walks every pair of states.
func TestState_Moves(t *testing.T) {
	legal := map[[2]State]bool{
		{Unloaded, Loading}: true,
		{Loading, Ready}:    true, {Loading, Failed}: true, {Loading, Defunct}: true, {Loading, Unloading}: true,
		{Ready, Failed}: true, {Ready, Defunct}: true, {Ready, Unloading}: true,
		{Unloading, Unloaded}: true,
		{Failed, Ready}:       true, {Failed, Defunct}: true, {Failed, Unloading}: true,
		{Defunct, Ready}: true, {Defunct, Failed}: true, {Defunct, Unloading}: true,
	}
	m := newRig(t, nil).add("m", "echo", nil)
	assert.Moves(t, states, legal, func(from, to State) (bool, State) {
		l := newLifecycle(m)
		l.state = from
		return l.move(to, ""), l.state
	})
	assert.Equal(t, "states", states.String(), "unknown")
}

// TestState_Return: from every state a model can be unloaded, and loaded again.
func TestState_Return(t *testing.T) {
	for s := range states {
		at := s
		for _, next := range []State{Unloading, Unloaded, Loading, Ready} {
			if stateMoves.Allows(at, next) {
				at = next
			}
		}
		assert.Equal(t, fmt.Sprintf("%s does not come back", s), at, Ready)
	}
}
