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
	// ErrClosed: the sender was closed.
	ErrClosed = errors.New("the sender of webhooks is closed")
	// ErrTimeout: the receiver did not answer within Options.Timeout.
	ErrTimeout = errors.New("the receiver did not answer in time")
	// ErrURL: not an http or https URL.
	ErrURL = errors.New("not an http or https URL")
	// ErrRedirect: the receiver redirected too often, or to what is no http or https URL.
	ErrRedirect = errors.New("the receiver's redirect cannot be followed")
	// ErrPrivate: Options.DenyPrivate is set and the address is not a public one.
	ErrPrivate = publicnet.ErrPrivate
)

// StatusError is an answer by which an event was not taken in.
type StatusError struct {
	Code       int
	RetryAfter time.Duration // what the receiver asked for; 0: nothing
}

func (e *StatusError) Error() string {
	text := "the receiver answered " + strconv.Itoa(e.Code)
	if words := http.StatusText(e.Code); words != "" {
		text += " " + words
	}
	return text
}

// passing tells whether another try may succeed where one ended with err.
func passing(err error) bool {
	var status *StatusError
	if !errors.As(err, &status) {
		// All else is the network's.
		return !errors.Is(err, ErrClosed) && !errors.Is(err, ErrURL) && !errors.Is(err, ErrRedirect) && !errors.Is(err, ErrPrivate)
	}
	switch status.Code {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// plain is an error of net/http without the URL that it may hold, and with the reason of ctx's end where
// that is what it comes from.
func plain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var named *url.Error
	if errors.As(err, &named) {
		err = named.Err
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the receiver closed the connection")
	}
	return publicnet.Reason(err)
}

// origin is what a log may say of a URL.
func origin(u *url.URL) string { return predict.Clip(u.Scheme + "://" + u.Host) }

// shown is an error for the log: net repeats the host, which a client chose.
func shown(err error) string { return predict.Clip(err.Error()) }
