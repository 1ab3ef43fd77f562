package webhook

import (
	"context"
	"errors"
	"time"

	"pinion/runtime/logtext"
	"pinion/runtime/predict"
	"pinion/runtime/trace"
)

// Stored is a completed event that a queue, and not this sender, keeps until it is delivered.
type Stored struct {
	Prediction        string // its id, which is the request's Webhook-Id: the receiver may get the event more than once
	URL               string
	Body              []byte // the prediction object
	trace.Propagation        // of the prediction's request
}

// Post tries once to deliver a stored event; tries is the number of this try, from 1. It returns how long to wait
// before the next try, or 0 if the event was delivered or no retry can help.
func (a *Account) Post(ctx context.Context, e Stored, tries int) time.Duration {
	s := a.sender
	target := s.target(e.URL, e.Prediction)
	if target == nil {
		return 0
	}
	request := predict.Request{Propagation: e.Propagation}
	d := &delivery{
		sender: s, account: a, prediction: predict.New(e.Prediction, &request, s.now(), nil, predict.Options{}),
		target: target, stored: true,
	}
	limited, cancel := context.WithTimeoutCause(ctx, s.o.Timeout, ErrTimeout)
	defer cancel()
	err := s.send(limited, d, nil, [3][]byte{e.Body})
	switch {
	case err == nil:
		d.report(predict.OnCompleted, Delivered)
		return 0
	case (temporary(err) || errors.Is(err, ErrTimeout)) && tries <= s.o.Retries:
		s.o.Logger.Debug("cannot deliver a webhook event; will try again", "prediction_id", logtext.Clip(e.Prediction),
			"receiver", origin(target), "error", shown(err))
		return s.backoff.After(tries, err)
	}
	d.logFailure(predict.OnCompleted, tries, err)
	d.report(predict.OnCompleted, Failed)
	return 0
}
