package jobqueue

import (
	"errors"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"pinion/runtime/jobqueue/store"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/logtext"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// replyTo says where the notices of a job go if a client waits for it; see state.Job. The zero value means that no
// client waits.
type replyTo struct {
	reply, waiter string
	startAfter    time.Duration
}

// maxShownInput is the largest input in bytes that a state shows before its prediction has ended: each change of the
// state writes it again.
const maxShownInput = 64 << 10

// natsTimeout is how long this member waits for NATS without progress, where no client does.
const natsTimeout = 4 * time.Second

// retryAfterFull is when a client whose job finds the queue full may try again.
const retryAfterFull = 5 * time.Second

// Accept stores a prediction: when it returns without an error, the prediction will end. Otherwise the error is one of
// Local.Check's, or predict.ErrInFlight, ErrEnded or ErrOtherInput, *predict.QueueFullError, *predict.UnavailableError
// (nothing is stored) or *predict.InDoubtError.
func (m *Member) Accept(s request.Submission) (request.Accepted, error) {
	return m.accept(s, replyTo{})
}

func (m *Member) accept(s request.Submission, to replyTo) (request.Accepted, error) {
	req := &s.Request
	now := time.Now()
	if req.ID == "" {
		req.ID = predict.NewID(now)
	}
	a := request.Accepted{ID: req.ID}
	class, err := state.ParseClass(s.Request.Class)
	if err != nil {
		return a, err
	}
	rec := predict.Record{ID: req.ID, Created: now, CreatedText: req.CreatedText, Version: req.Version}
	if !req.Created.IsZero() {
		rec.Created = req.Created
	}
	if rec.Input, a.Warnings, err = m.check(req); err != nil {
		return a, err
	}
	if m.o.Local != nil {
		if p := m.o.Local.Find(req.Kind, req.ID); p != nil && p.Request.Attempt == 0 {
			return a, predict.ErrInFlight
		}
	}
	if err := m.checkVersion(req.Version); err != nil {
		return a, err
	}
	if len(s.Body) > state.MaxObject {
		return a, &predict.FileLimitError{
			Reason: fmt.Sprintf("The body is larger than %d bytes, which is the most that the job queue takes: give its files as URLs", state.MaxObject),
		}
	}
	ask, err := m.ask(len(s.Body), req.Deadline)
	if err != nil {
		return a, err
	}
	_, err = ask.q.Accept(ask, m.job(&s, class, to), m.encode(&rec), req.Idempotent)
	ask.done(err)
	if used, ok := errors.AsType[*store.InUseError](err); ok && req.Idempotent {
		switch {
		case predictKind(used.State.Kind) != req.Kind:
			used.State.Release()
			return a, m.refusal(req.ID, err)
		case predict.OtherInput(req.Digest, string(used.State.Digest)):
			used.State.Release()
			return a, predict.ErrOtherInput
		}
		a.Object, a.Owner = used.State.Prediction, &used.State
		return a, nil
	}
	return a, m.refusal(req.ID, err)
}

// job returns the job of a submission.
func (m *Member) job(s *request.Submission, class state.Class, to replyTo) state.Job {
	req := &s.Request
	j := state.Job{
		ID: req.ID, Kind: storeKinds[req.Kind], Class: class, Tenant: req.Tenant, Body: s.Body, ContentType: s.ContentType,
		Deadline: req.Deadline, Attempts: m.o.Attempts, Propagation: req.Propagation,
		Reply: to.reply, Waiter: to.waiter, NotifyStartAfter: to.startAfter, Digest: req.Digest, Version: req.Version,
		Schema: m.schemas.of(req.Version).Revision,
	}
	if req.Kind == predict.KindTraining {
		j.Attempts = 1
	}
	if req.Webhook != "" && req.WebhookEvents&predict.OnCompleted != 0 {
		j.Hook = &state.Hook{URL: req.Webhook, Propagation: req.Propagation}
	}
	return j
}

// refusal converts an error of the queue to the error that a client gets.
func (m *Member) refusal(id string, err error) error {
	var used *store.InUseError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &used) && used.State.Status.Ended():
		return predict.ErrEnded
	case errors.As(err, &used):
		return predict.ErrInFlight
	case errors.Is(err, memory.ErrFull), errors.Is(err, memory.ErrTooLarge):
		return err
	case errors.Is(err, state.ErrFull):
		return &predict.QueueFullError{RetryAfter: retryAfterFull}
	case errors.Is(err, state.ErrInDoubt):
		m.o.Logger.Warn("the job queue did not answer: a prediction may have been accepted", "prediction_id",
			logtext.Clip(id))
		return &predict.InDoubtError{ID: id}
	}
	m.o.Logger.Warn("the job queue refused a request", "prediction_id", logtext.Clip(id), "error", err)
	return &predict.UnavailableError{Reason: sentence(err.Error())}
}

// sentence returns text with its first letter in upper case.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 || first == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
