package webhook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"pinion/runtime/predict"
	"pinion/runtime/publicnet"
)

var (
	// ErrClosed: the sender was closed, because the server stops.
	ErrClosed = errors.New("the server stopped before the receiver accepted it")
	// errHastened: Sender.Hasten was called, and completed waits behind this event.
	errHastened = errors.New("the server stops, and reports the prediction's end instead")
	// ErrTimeout: the receiver did not answer within Options.Timeout.
	ErrTimeout = errors.New("the receiver did not answer in time")
	// ErrURL: not an http or https URL.
	ErrURL = errors.New("not an http or https URL")
	// ErrRedirect: the receiver redirected too often, or to a URL that is not http or https.
	ErrRedirect = errors.New("the receiver's redirect cannot be followed")
	// ErrPrivate: Options.DenyPrivate is set and the address is not a public one.
	ErrPrivate = publicnet.ErrPrivate
)

// StatusError is an answer with which the receiver refused an event.
type StatusError struct {
	Code       int
	RetryAfter time.Duration // 0: none
}

func (e *StatusError) Error() string {
	text := "the receiver answered " + strconv.Itoa(e.Code)
	if words := http.StatusText(e.Code); words != "" {
		text += " " + words
	}
	return text
}

// temporary reports whether a retry may succeed after err.
func temporary(err error) bool {
	var status *StatusError
	if !errors.As(err, &status) {
		// All others are network errors.
		return !errors.Is(err, ErrClosed) && !errors.Is(err, ErrURL) && !errors.Is(err, ErrRedirect) &&
			!errors.Is(err, ErrPrivate)
	}
	switch status.Code {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// plain returns an error of net/http without its URL, or the cause of ctx's end.
func plain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if named, ok := errors.AsType[*url.Error](err); ok {
		err = named.Err
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the receiver closed the connection")
	}
	return publicnet.Reason(err)
}

// origin returns the part of a URL that a log may show.
func origin(u *url.URL) string { return predict.Clip(u.Scheme + "://" + u.Host) }

// shown clips an error for the log: it may have the host, which a client chose.
func shown(err error) string { return predict.Clip(err.Error()) }
