package state

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
)

// Connection says how a member reaches NATS. Its files are read again at each connect.
type Connection struct {
	URLs []string // tried in turn
	// Credentials is a file with a user's credentials; CA, Cert and Key are PEM files for TLS. "" means none.
	Credentials, CA, Cert, Key string
	// Model is the queue's: members of a model have separate inboxes, so that NATS can keep others out of them.
	Model string
	// Name of this member in NATS's own monitoring.
	Name string
	// OnChange is called when the connection was made (nil) or lost. It must not block.
	OnChange func(lost error)
}

// Dial connects to NATS in the background. OnChange hears once that it does not answer.
func (c *Connection) Dial() *Conn {
	var told sync.Once
	return Dial(func() (*nats.Conn, error) {
		nc, err := c.Connect()
		if _, unanswered := errors.AsType[*UnansweredError](err); unanswered {
			told.Do(func() { c.OnChange(err) })
		}
		return nc, err
	})
}

// schemes are those of a NATS URL.
var schemes = []string{"nats", "tls", "ws", "wss"}

// Check returns an error that names what is wrong with the URLs or the files, without a connection.
func (c *Connection) Check() error {
	if c.Model != "" {
		if err := CheckModel(c.Model); err != nil {
			return err
		}
	}
	for _, text := range c.URLs {
		u, err := url.Parse(text)
		switch {
		case err != nil:
			return errors.New("invalid NATS URL: must be like nats://host:4222") // the text may hold a password
		case !slices.Contains(schemes, u.Scheme) || u.Host == "" || u.Port() == "" && strings.HasSuffix(u.Host, ":"):
			return fmt.Errorf("invalid NATS URL %s: must be like nats://host:4222, with one of %s", redacted(u),
				strings.Join(schemes, ", "))
		}
		if port, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || port == 0) {
			return fmt.Errorf("invalid NATS URL %s: the port must be 1 to 65535", redacted(u))
		}
	}
	if c.Credentials != "" {
		if err := checkCredentials(c.Credentials); err != nil {
			return fmt.Errorf("--nats-creds: %w", err)
		}
	}
	if c.CA != "" {
		if _, err := c.pool(); err != nil {
			return fmt.Errorf("--nats-tls-ca: %w", err)
		}
	}
	if (c.Cert == "") != (c.Key == "") {
		return errors.New("--nats-tls-cert and --nats-tls-key go together: give both")
	}
	if c.Cert != "" {
		if _, err := tls.LoadX509KeyPair(c.Cert, c.Key); err != nil {
			return fmt.Errorf("--nats-tls-cert %s, --nats-tls-key %s: %w", c.Cert, c.Key, err)
		}
	}
	return nil
}

// checkCredentials refuses a file that has no user's credentials: the client of NATS would send what it has to the
// server.
func checkCredentials(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if _, err := jwt.ParseDecoratedUserNKey(text); err != nil {
		return fmt.Errorf("%s has no seed of a user's key: must be a file that nsc makes for a user", file)
	}
	token, err := jwt.ParseDecoratedJWT(text)
	if err != nil {
		return fmt.Errorf("%s has no token of a user: must be a file that nsc makes for a user", file)
	}
	claims, err := jwt.DecodeUserClaims(token)
	switch {
	case err != nil:
		return fmt.Errorf("%s has no valid token of a user: %w", file, err)
	case claims.Expires != 0 && claims.Expires < time.Now().Unix():
		return fmt.Errorf("%s has expired at %s", file, time.Unix(claims.Expires, 0).UTC().Format(time.RFC3339))
	}
	return nil
}

func (c *Connection) pool() (*x509.CertPool, error) {
	text, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM", c.CA)
	}
	return pool, nil
}

// connectWait bounds an attempt to connect. After one that failed follows a pause of connectPause to twice that.
const (
	connectWait  = 5 * time.Second
	connectPause = 500 * time.Millisecond
)

// UnansweredError is that of a NATS that did not answer, and may do so later.
type UnansweredError struct{ Cause error }

func (e *UnansweredError) Error() string { return e.Cause.Error() }
func (e *UnansweredError) Unwrap() error { return e.Cause }

// Connect connects to NATS. Its error is an UnansweredError, or that of a NATS that refuses the credentials or the
// certificate, or whose certificate is not trusted.
func (c *Connection) Connect() (*nats.Conn, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	servers := strings.Join(c.URLs, ",")
	nc, err := nats.Connect(servers, c.options()...)
	for range cutOffTries {
		if err == nil || !cutOff(err) {
			break
		}
		nc, err = nats.Connect(servers, c.options()...)
	}
	switch {
	case err == nil:
		c.OnChange(nil)
		return nc, nil
	case refused(err):
		return nil, fmt.Errorf("connect to NATS at %s%s: %w", c.shown(), c.used(err), err)
	}
	return nil, &UnansweredError{fmt.Errorf("connect to NATS at %s: %w", c.shown(), err)}
}

// refused reports whether NATS was reached and rejected this member, or this member rejected NATS.
func refused(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) ||
		errors.Is(err, nats.ErrSecureConnRequired) ||
		errors.Is(err, nats.ErrSecureConnWanted) || strings.Contains(err.Error(), "Authorization Violation") ||
		untrusted(err) || alerted(err)
}

// untrusted reports whether NATS has a certificate that this member does not trust.
func untrusted(err error) bool {
	var unknown x509.UnknownAuthorityError
	var wrongName x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	return errors.As(err, &unknown) || errors.As(err, &wrongName) || errors.As(err, &invalid) || errors.As(err, &verify)
}

// alerted reports whether NATS ended the handshake: it wants another certificate. Package tls does not export the type
// of an alert.
func alerted(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error" || cutOff(err)
}

// cutOffTries is how often a connection is tried again that NATS cut off: most often the alert comes then.
const cutOffTries = 3

// cutOff reports whether NATS closed a connection after the handshake. In TLS 1.3 it refuses a certificate there, and
// its alert is lost if something was sent meanwhile. The client of NATS has no type for that.
func cutOff(err error) bool {
	return strings.Contains(err.Error(), "closed by remote after TLS handshake")
}

// used returns the settings that NATS rejected, or by which this member rejected NATS.
func (c *Connection) used(err error) string {
	switch {
	case untrusted(err) && c.CA != "":
		return " with --nats-tls-ca " + c.CA
	case untrusted(err):
		return " without --nats-tls-ca"
	case alerted(err) && c.Cert != "":
		return " with --nats-tls-cert " + c.Cert
	case alerted(err):
		return " without --nats-tls-cert"
	case c.Credentials != "":
		return " with --nats-creds " + c.Credentials
	}
	return ""
}

// shown returns the URLs without passwords and tokens.
func (c *Connection) shown() string {
	var urls []string
	for _, text := range c.URLs {
		if u, err := url.Parse(text); err == nil {
			urls = append(urls, redacted(u))
		}
	}
	return strings.Join(urls, ",")
}

// redacted returns a URL without its password. A user without one is a token.
func redacted(u *url.URL) string {
	if _, ok := u.User.Password(); u.User != nil && !ok {
		shown := *u
		shown.User = url.User("xxxxx")
		return shown.String()
	}
	return u.Redacted()
}

// options returns the client's options. Against its defaults it reconnects forever, after refusals too, and buffers no
// messages while it is disconnected: what is published twice would be stored twice.
func (c *Connection) options() []nats.Option {
	o := append(Always(c.Name, c.OnChange), nats.Timeout(connectWait), nats.ReconnectWait(connectPause),
		nats.ReconnectJitter(connectPause, connectPause))
	if c.Model != "" {
		o = append(o, nats.CustomInboxPrefix("_INBOX.pinion."+c.Model))
	}
	if c.Credentials != "" {
		o = append(o, nats.UserCredentials(c.Credentials))
	}
	if c.CA != "" {
		o = append(o, nats.RootCAs(c.CA))
	}
	if c.Cert != "" {
		o = append(o, nats.ClientCert(c.Cert, c.Key))
	}
	return o
}

// Always returns the options of every connection, also of one within this process.
func Always(name string, changed func(lost error)) []nats.Option {
	return []nats.Option{
		nats.Name(name), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(), nats.ReconnectBufSize(-1),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ConnectHandler(func(*nats.Conn) { changed(nil) }),
		nats.ReconnectHandler(func(*nats.Conn) { changed(nil) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			changed(cmp.Or(err, nats.ErrConnectionClosed))
		}),
	}
}
