package webhook

import (
	"context"
	"errors"
	"io"
	"net/url"

	"pinion/runtime/egress"
	"pinion/runtime/logtext"
)

var (
	// ErrClosed means that the sender was closed, because the server stops.
	ErrClosed = errors.New("the server stopped before the receiver accepted it")
	// errHastened means that Sender.Hasten was called, and completed waits behind this event.
	errHastened = errors.New("the server is stopping and reports the prediction's end instead")
	// ErrTimeout means that the receiver did not answer within Options.Timeout.
	ErrTimeout = errors.New("the receiver did not answer in time")
	// ErrURL means that the URL is not an http or https URL.
	ErrURL = errors.New("not an http or https URL")
	// ErrRedirect means that the receiver redirected too often, or to a URL that is not http or https.
	ErrRedirect = errors.New("the receiver's redirect cannot be followed")
)

// temporary reports whether a retry may succeed after err.
func temporary(err error) bool {
	return egress.Temporary(err) && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrURL) && !errors.Is(err, ErrRedirect)
}

// plain returns an error of net/http without its URL, or the cause of ctx's end.
func plain(ctx context.Context, err error) error {
	if errors.Is(err, egress.ErrRedirect) {
		return ErrRedirect
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if named, ok := errors.AsType[*url.Error](err); ok {
		err = named.Err
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the receiver closed the connection")
	}
	return egress.Reason(err)
}

// origin returns the part of a URL that a log may show.
func origin(u *url.URL) string { return logtext.Clip(u.Scheme + "://" + u.Host) }

// shown clips an error for the log: it may have the host, which a client chose.
func shown(err error) string { return logtext.Clip(err.Error()) }
