package admin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"pinion/runtime/jobqueue/store/state"
)

// droppedOnRetry are the headers of a dead letter that its new job does not have.
var droppedOnRetry = []string{
	state.HeaderReason, state.HeaderSubject, state.HeaderDeadline, state.HeaderState, state.HeaderURL,
	nats.ExpectedStreamHdr,
}

// Retry makes a new job of the last dead letter of an id, and removes the letter. waiting returns what clients see of
// the new job until it runs; old is the state of the dead one, nil if it is no longer known. The error is
// ErrUnknown if there is no such letter, or one of Accept's.
func (a *Admin) Retry(ctx context.Context, id, newID string, waiting func(old *state.State) json.RawMessage) error {
	letter, err := a.dead.GetLastMsgForSubject(ctx, a.letterSubject(state.Token(id)))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return state.ErrUnknown
	}
	if err != nil {
		return fmt.Errorf("read the dead letter: %w", err)
	}
	old, err := a.Q.State.Read(ctx, id)
	if err != nil && !state.IsForeign(err) {
		return fmt.Errorf("%w: %w", state.ErrUnavailable, err)
	}
	hook, err := a.Q.State.ReadHook(letter.Header)
	if err != nil {
		return err
	}
	s, before := state.State{Job: rand.Text(), Status: state.Starting, Hook: hook}, &old.State
	if kind := state.Kind(letter.Header.Get(state.HeaderKind)); kind != state.Prediction {
		s.Kind = kind
	}
	if old.Status == "" {
		before = nil
	}
	s.Prediction = waiting(before)
	revision, _, err := a.Q.Create(ctx, newID, &s)
	if err != nil {
		return err
	}
	m := nats.NewMsg(letter.Header.Get(state.HeaderSubject))
	if m.Subject == "" { // a letter of an older member
		m.Subject = a.Q.State.Names.Job(state.Normal, 1, "")
	}
	m.Data = letter.Data
	for name, values := range letter.Header {
		m.Header[name] = values
	}
	for _, name := range droppedOnRetry {
		m.Header.Del(name)
	}
	m.Header.Set(state.HeaderToken, s.Job)
	state.Set(m.Header, state.HeaderID, newID)
	if err := a.Q.Publish(ctx, newID, revision, m); err != nil {
		return err
	}
	if err := a.dead.DeleteMsg(ctx, letter.Sequence); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return fmt.Errorf("the new job is stored, but its dead letter could not be removed: %w", err)
	}
	return nil
}
