package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// ErrRedirect means that a server redirected too often, or to a URL that is not http or https. It does not show the
// URL, which may be signed.
var ErrRedirect = errors.New("the redirect cannot be followed")

// ErrAnswer means that a server's answer cannot be read: its headers are too large, or it is not HTTP. A retry would get the same.
var ErrAnswer = errors.New("the answer cannot be read")

// Options of a client.
type Options struct {
	UserAgent string
	// MaxRedirects is how many redirects a request may follow; negative means none.
	MaxRedirects int
	// DenyPrivate refuses connections to addresses that are not public. Proxies from the environment are then not used,
	// because the check would only see their address.
	DenyPrivate bool
	// ConnectTimeout bounds the dial, and the TLS handshake.
	ConnectTimeout time.Duration
	// IdleTimeout is how long a connection waits for its next request.
	IdleTimeout time.Duration
	// Bounds of connections, as in http.Transport: to a host, idle ones to a host, and all idle ones.
	MaxPerHost, MaxIdlePerHost, MaxIdle int
	// HTTP1 keeps requests at once on connections of their own; HTTP/2 would send them over one.
	HTTP1 bool
	// TLS configures how servers are verified. Default: by the system's authorities.
	TLS *tls.Config
}

// Client sends requests. Safe for concurrent use.
type Client struct {
	options   Options
	transport *http.Transport
}

// New returns a client.
func New(o Options) *Client {
	dialer := &net.Dialer{Timeout: o.ConnectTimeout, KeepAlive: 30 * time.Second}
	proxy := http.ProxyFromEnvironment
	if o.DenyPrivate {
		dialer.Control, proxy = Deny, nil
	}
	// There is no http.Client, which would show targets of redirects in its errors.
	return &Client{o, &http.Transport{
		Proxy:                  proxy,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        o.TLS,
		TLSHandshakeTimeout:    o.ConnectTimeout,
		MaxConnsPerHost:        o.MaxPerHost,
		MaxIdleConnsPerHost:    o.MaxIdlePerHost,
		MaxIdleConns:           o.MaxIdle,
		IdleConnTimeout:        o.IdleTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      !o.HTTP1,
		DisableCompression:     true,
	}}
}

// Close closes the idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Request is sent to a URL, and again to each target of a redirect.
type Request struct {
	Method string
	Header http.Header // Send adds the User-Agent and credentials
	Size   int64       // of the body, in bytes
	// Body returns the body from its start, or nil. Each try on a connection opens it anew, because the
	// transport may still read the last one.
	Body func() io.ReadCloser
	// Token, if not "", is sent as `Authorization: Bearer` to the host of the first URL, instead of the credentials in a
	// URL.
	Token string
	// SeeOther means that 303 is followed too; otherwise it is an answer.
	SeeOther bool
}

// Send sends a request, and follows redirects with the same method and body. It returns the answer, whose body the
// caller closes, and the URL that gave it. A redirect without a Location is an answer. The error is ErrRedirect, an
// ErrAnswer or one of net/http, which Reason makes fit for a client.
func (c *Client) Send(ctx context.Context, r *Request, to *url.URL) (*http.Response, *url.URL, error) {
	target := to
	var answered atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { answered.Store(true) }})
	for redirects := 0; ; redirects++ {
		response, err := c.transport.RoundTrip(c.request(ctx, r, to, target))
		if err != nil && answered.Load() && ctx.Err() == nil && !ofNetwork(err) {
			return nil, nil, fmt.Errorf("%w: %w", ErrAnswer, err)
		}
		if err != nil {
			return nil, nil, err
		}
		answered.Store(false)
		code, location := response.StatusCode, response.Header.Get("Location")
		if location == "" || !IsRedirect(code) && !(code == http.StatusSeeOther && r.SeeOther) {
			return response, target, nil
		}
		Discard(response)
		next, err := target.Parse(location)
		if err != nil || !Sendable(next) || redirects >= max(0, c.options.MaxRedirects) {
			return nil, nil, ErrRedirect
		}
		target = next
	}
}

// ofNetwork reports whether an error is of a connection, and not of what came over it.
func ofNetwork(err error) bool {
	_, ok := errors.AsType[net.Error](err)
	return ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// request makes the request to target, to which the first URL led.
func (c *Client) request(ctx context.Context, r *Request, first, target *url.URL) *http.Request {
	// http.NewRequest would copy the URL, which may be long, and there may be many tries at once.
	request := (&http.Request{
		Method: r.Method, URL: target, Host: strings.TrimSuffix(target.Host, ":"), Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Header: r.Header.Clone(), ContentLength: r.Size,
	}).WithContext(ctx)
	if r.Body != nil {
		request.Body = r.Body()
		request.GetBody = func() (io.ReadCloser, error) { return r.Body(), nil } // for a retry after a dead connection
	}
	request.Header.Set("User-Agent", c.options.UserAgent)
	// A redirect must not send the token to another host.
	trusted := target.Hostname() == first.Hostname() && (target.Scheme == first.Scheme || target.Scheme == "https")
	switch {
	case r.Token != "" && trusted:
		request.Header.Set("Authorization", "Bearer "+r.Token)
	case target.User != nil:
		password, _ := target.User.Password()
		request.SetBasicAuth(target.User.Username(), password)
	}
	return request
}

// IsRedirect reports whether a status asks for the same request at another URL.
func IsRedirect(code int) bool {
	return code == http.StatusMovedPermanently || code == http.StatusFound ||
		code == http.StatusTemporaryRedirect || code == http.StatusPermanentRedirect
}

// Sendable reports whether u is a URL to which a request can be sent.
func Sendable(u *url.URL) bool {
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return false
	}
	port := u.Port()
	number, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && number > 0
}

// maxAnswer and maxAnswerTime bound how much of an answer's body is read, so that its connection can be reused. Its
// text is ignored.
const (
	maxAnswer     = 4 << 10
	maxAnswerTime = time.Second
)

// Discard reads the rest of an answer and closes it.
func Discard(response *http.Response) {
	timer := time.AfterFunc(maxAnswerTime, func() { _ = response.Body.Close() })
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	timer.Stop()
	_ = response.Body.Close()
}
