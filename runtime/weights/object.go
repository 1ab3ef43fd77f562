package weights

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"pinion/runtime/egress"
)

// object is a file at a server.
type object struct {
	name  string // for messages
	url   *url.URL
	token string // for the host of the URL alone
	// mutable means that the URL may lead to another version at any time.
	mutable bool

	probed    bool   // what follows is what the server has said
	size      int64  // in bytes; -1 if unknown
	etag      string // strong, or ""
	validator string // names the content: its ETag, or when it was changed; "" if neither is known
	ranged    bool   // the server sends parts

	located atomic.Pointer[url.URL] // where the last redirect led, or nil
}

// versionKey stands for the version that a URL led to when it was probed; "" if versions cannot be told apart.
func (o *object) versionKey() string {
	if o.validator == "" {
		return ""
	}
	return keyOf(o.url.String(), o.validator, strconv.FormatInt(o.size, 10))
}

// errChanged means that a file at a server is another one than at the begin of its download.
var errChanged = errors.New("it was changed while it was fetched")

// client sends requests for files.
type client struct {
	http *egress.Client
	// connections holds a token for each request whose body is read.
	connections chan struct{}
}

const (
	// parallel is how many connections are used at once.
	parallel       = 16
	connectTimeout = 30 * time.Second
	maxRedirects   = 10
)

func newClient(userAgent string) *client {
	return &client{
		egress.New(egress.Options{
			UserAgent: userAgent, MaxRedirects: maxRedirects, ConnectTimeout: connectTimeout, IdleTimeout: time.Minute,
			MaxIdlePerHost: parallel, MaxIdle: 2 * parallel, HTTP1: true,
		}),
		make(chan struct{}, parallel),
	}
}

// open asks for the bytes of an object from a place to before another one; to < 0 means all.
func (c *client) open(ctx context.Context, o *object, from, to int64) (*http.Response, error) {
	header := http.Header{"Accept-Encoding": {"identity"}}
	if to >= 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to-1))
	}
	target, token := o.located.Load(), ""
	if target == nil {
		target, token = o.url, o.token
	}
	request := &egress.Request{Method: http.MethodGet, Header: header, Token: token, SeeOther: true}
	response, led, err := c.http.Send(ctx, request, target)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", o.name, withoutURL(err))
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusPartialContent {
		defer egress.Discard(response)
		if response.StatusCode == http.StatusRequestedRangeNotSatisfiable {
			return nil, &rangeError{response.Header.Get("Content-Range")}
		}
		err := egress.NewStatusError("server", response, time.Now())
		if o.located.Swap(nil) != nil { // what signs the address of a redirect may have run out
			err.Code, err.RetryAfter = http.StatusServiceUnavailable, 0
		}
		return nil, fmt.Errorf("get %s: %w", o.name, err)
	}
	if coding := response.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		_ = response.Body.Close()
		return nil, fmt.Errorf("get %s: the server sends it encoded as %.40q, which no range can be taken of", o.name, coding)
	}
	if led.String() != o.url.String() {
		o.located.Store(led)
	}
	return response, nil
}

// rangeError is an answer that refuses a range.
type rangeError struct{ has string }

func (e *rangeError) Error() string {
	return "the server refuses the range: it has " + cmp.Or(e.has, "nothing")
}

// withoutURL returns an error without the URL that net/http adds, which may be signed.
func withoutURL(err error) error {
	if e, is := errors.AsType[*url.Error](err); is {
		return e.Err
	}
	return err
}

// probe asks what a server has, and whether it sends parts.
func (c *client) probe(ctx context.Context, o *object) error {
	o.probed = true
	return retried(ctx, func() (bool, error) {
		response, err := c.open(ctx, o, 0, 1)
		if refused, is := errors.AsType[*rangeError](err); is && refused.has == "bytes */0" {
			o.size, o.ranged, o.validator, o.etag = 0, false, "", ""
			return false, nil
		}
		if err != nil {
			return false, err
		}
		o.ranged = response.StatusCode == http.StatusPartialContent
		size := response.ContentLength
		if o.ranged {
			_, size, err = contentRange(response)
			egress.Discard(response)
			if err != nil {
				return false, fmt.Errorf("get %s: %w", o.name, err)
			}
			o.ranged = size >= 0
		} else {
			_ = response.Body.Close() // it would be the whole file
		}
		o.etag, o.validator = validators(response)
		o.size = size
		return false, nil
	})
}

// validators returns what names the content of an answer: a strong ETag, and that or else the time of its last change.
func validators(response *http.Response) (etag, validator string) {
	if etag = response.Header.Get("ETag"); strings.HasPrefix(etag, "W/") {
		etag = ""
	}
	return etag, cmp.Or(etag, response.Header.Get("Last-Modified"))
}

// contentRange reads the range of an answer; size is that of the whole file, or -1.
func contentRange(response *http.Response) (from, size int64, err error) {
	text := response.Header.Get("Content-Range")
	span, whole, is := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	first, _, dashed := strings.Cut(span, "-")
	from, err = strconv.ParseInt(first, 10, 64)
	if !is || !dashed || err != nil || from < 0 {
		return 0, 0, fmt.Errorf("the server answers a range with the wrong one: %.100q", text)
	}
	if whole == "*" {
		return from, -1, nil
	}
	size, err = strconv.ParseInt(whole, 10, 64)
	if err != nil || size < 0 {
		return 0, 0, fmt.Errorf("the server answers a range with the wrong one: %.100q", text)
	}
	return from, size, nil
}

// checkPart checks that an answer is the wanted part of the same file.
func (o *object) checkPart(response *http.Response, from int64) error {
	if response.StatusCode != http.StatusPartialContent {
		return errChanged // it sends no parts any more
	}
	at, size, err := contentRange(response)
	if err != nil {
		return err
	}
	if at != from {
		return fmt.Errorf("the server sends bytes from %d on, instead of %d", at, from)
	}
	if _, validator := validators(response); size != o.size || validator != o.validator {
		return errChanged
	}
	return nil
}

// tries is how often a request is tried that brings nothing.
const tries = 6

// retried calls a function until it has no error, or one that lasts. A call that reports progress begins the count anew.
func retried(ctx context.Context, do func() (progress bool, err error)) error {
	backoff := egress.Backoff{First: 200 * time.Millisecond, Most: 5 * time.Second}
	for tried := 1; ; tried++ {
		progress, err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if progress {
			tried = 1
		}
		if tried >= tries || lasts(err) {
			return err
		}
		egress.Sleep(ctx, backoff.After(tried, statusOf(err)), nil)
	}
}

// statusOf returns the answer's error in err, for its Retry-After, else err.
func statusOf(err error) error {
	if status, is := errors.AsType[*egress.StatusError](err); is {
		return status
	}
	return err
}

// lasts reports whether a retry would end with the same error.
func lasts(err error) bool {
	_, ofDisk := errors.AsType[*diskError](err)
	_, ofRange := errors.AsType[*rangeError](err)
	_, isWrong := errors.AsType[*wrongError](err)
	return ofDisk || ofRange || isWrong || errors.Is(err, errChanged) ||
		!egress.Temporary(statusOf(err))
}

// diskError is an error of this machine's disk.
type diskError struct{ err error }

func (e *diskError) Error() string { return e.err.Error() }
func (e *diskError) Unwrap() error { return e.err }
