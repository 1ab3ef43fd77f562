package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// droppedOnRetry are the headers of a dead letter that its new job does not have.
var droppedOnRetry = []string{
	headerReason, headerSubject, headerDeadline, headerState, headerURL, nats.ExpectedStreamHdr,
}

// Retry makes a new job of the last dead letter of an id, and removes the letter. waiting returns what clients see of
// the new job until it runs; old is the state of the dead one, nil if it is no longer known. The error is
// ErrUnknown if there is no such letter, or one of Accept's.
func (a *Admin) Retry(ctx context.Context, id, newID string, waiting func(old *State) json.RawMessage) error {
	letter, err := a.dead.GetLastMsgForSubject(ctx, a.letterSubject(token(id)))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return ErrUnknown
	}
	if err != nil {
		return fmt.Errorf("read the dead letter: %w", err)
	}
	old, err := a.q.read(ctx, id)
	if err != nil && !isForeign(err) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	hook, err := a.q.readHook(letter.Header)
	if err != nil {
		return err
	}
	s, before := State{Job: rand.Text(), Status: Starting, Hook: hook}, &old.State
	if kind := Kind(letter.Header.Get(headerKind)); kind != Prediction {
		s.Kind = kind
	}
	if old.Status == "" {
		before = nil
	}
	s.Prediction = waiting(before)
	revision, _, err := a.q.create(ctx, newID, &s)
	if err != nil {
		return err
	}
	m := nats.NewMsg(letter.Header.Get(headerSubject))
	if m.Subject == "" { // a letter of an older member
		m.Subject = a.q.names.job(Normal, 1, "")
	}
	m.Data = letter.Data
	for name, values := range letter.Header {
		m.Header[name] = values
	}
	for _, name := range droppedOnRetry {
		m.Header.Del(name)
	}
	m.Header.Set(headerToken, s.Job)
	set(m.Header, headerID, newID)
	if err := a.q.publish(ctx, newID, revision, m); err != nil {
		return err
	}
	if err := a.dead.DeleteMsg(ctx, letter.Sequence); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return fmt.Errorf("the new job is stored, but its dead letter could not be removed: %w", err)
	}
	return nil
}

// setHook writes the webhook of a job's end into headers.
func (q *Queue) setHook(h nats.Header, hook *Hook) {
	set(h, headerURL, q.o.Keys.sealText(hook.URL))
	setPropagation(h, &hook.Propagation)
}

// readHook is the reverse of setHook, or returns nil if there is none.
func (q *Queue) readHook(h nats.Header) (*Hook, error) {
	text := get(h, headerURL)
	if text == "" {
		return nil, nil
	}
	address, err := q.o.Keys.openText(text)
	if err != nil {
		return nil, fmt.Errorf("read a webhook: %w", err)
	}
	return &Hook{URL: address, Propagation: propagation(h)}, nil
}
