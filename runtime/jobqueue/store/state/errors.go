package state

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var (
	// ErrUnknown means that no job of that id is known.
	ErrUnknown = errors.New("no such job")
	// ErrFull means that as many jobs wait and run as may.
	ErrFull = errors.New("the job queue is full")
	// ErrInDoubt means that NATS did not answer. The job may be stored: repeat the request with its id.
	ErrInDoubt = errors.New("the job queue did not answer; the prediction may have been accepted: repeat it with its id")
	// ErrUnavailable means that NATS refused, and nothing is stored.
	ErrUnavailable = errors.New("the job queue takes no jobs now")
	// ErrLost means that another server has the job. The caller must neither end the job nor acknowledge its message.
	ErrLost = errors.New("another server has the job")

	// errNoStream is what a client is told.
	errNoStream = errors.New("NATS has no stream for them, or the stream has no leader now")
	// ErrConflict means that the state is not what it was.
	ErrConflict = errors.New("the state has changed")
	// errNewer means that a newer server wrote the state.
	errNewer = errors.New("the state is of a newer version")
	// ErrUnreadable means that no server wrote the state.
	ErrUnreadable = errors.New("the state cannot be read")
)

// IsForeign reports whether a state is there that this server will never be able to read.
func IsForeign(err error) bool { return errors.Is(err, errNewer) || errors.Is(err, ErrUnreadable) }

// fieldModel is the MismatchError's field of a stream that is another model's.
const fieldModel = "model"

// MismatchError is a stream that is not as this server would make it.
type MismatchError struct {
	Stream string
	Field  string
	Have   string // "" means the stream is missing, though others of the model are there
	Want   string
}

func (e *MismatchError) Error() string {
	if e.Have == "" {
		return fmt.Sprintf("%s of the job queue is missing, though other parts are there: restore it, or remove the rest",
			e.Stream)
	}
	if e.Field == fieldModel {
		return fmt.Sprintf("%s has the jobs of the model %s, so the model %s can have no queue beside it: rename one of them",
			e.Stream, e.Have, e.Want)
	}
	return fmt.Sprintf("%s has %s %s, but this server is to have %s: give all servers the same, or run pinion jobs apply",
		e.Stream, e.Field, e.Have, e.Want)
}

// codeFull is JetStream's code for a stream that refuses a message because it, or the part of the tenant, is full.
const codeFull jetstream.ErrorCode = 10077

// Temporary reports whether what failed may succeed later: NATS did not answer, or its servers have not found each
// other yet.
func Temporary(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		const noPeers = 10005
		return api.Code == 503 && api.ErrorCode != codeFull || api.ErrorCode == noPeers
	}
	return slices.ContainsFunc([]error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrConnectionClosed, nats.ErrDisconnected,
		nats.ErrConnectionReconnecting, nats.ErrReconnectBufExceeded, jetstream.ErrNoStreamResponse,
		jetstream.ErrJetStreamNotEnabled, errNoStream,
	}, func(target error) bool { return errors.Is(err, target) })
}

// code returns JetStream's error code, or 0 if the error is not from JetStream, so the outcome is not known.
func code(err error) jetstream.ErrorCode {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode
	}
	return 0
}

// noStream reports whether no stream got a message: it is missing, or has no leader now. Nothing is stored then.
func noStream(err error) bool {
	return errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders)
}

// Conflict reports whether a compare-and-swap was refused.
func Conflict(err error) bool {
	c := code(err)
	return c == jetstream.JSErrCodeStreamWrongLastSequence || c == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

// Refusal returns the error of a message that JetStream refused.
func Refusal(err error) error {
	switch {
	case errors.Is(err, ErrUnavailable):
		return err
	case code(err) == codeFull:
		return ErrFull
	case noStream(err):
		return fmt.Errorf("%w: %w", ErrUnavailable, errNoStream)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
