package logging

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// SentryConfig says where errors are reported, and with which environment and release.
type SentryConfig struct {
	endpoint    *url.URL // of envelopes
	key         string   // the public key of the DSN
	environment string
	release     string
	secrets     []string // values that no report may have
}

// ReadSentry reads the settings SENTRY_DSN, SENTRY_ENVIRONMENT and SENTRY_RELEASE. nil means nothing is to be reported.
// An error says what is wrong with the DSN.
func ReadSentry(getenv func(string) string, environ []string) (*SentryConfig, error) {
	dsn := strings.TrimSpace(getenv("SENTRY_DSN"))
	if dsn == "" {
		return nil, nil
	}
	c := &SentryConfig{
		environment: getenv("SENTRY_ENVIRONMENT"), release: getenv("SENTRY_RELEASE"), secrets: secretsOf(environ),
	}
	if err := c.parse(dsn); err != nil {
		return nil, fmt.Errorf("SENTRY_DSN is ignored: %w", err)
	}
	return c, nil
}

var errDSN = errors.New("must have the form https://KEY@HOST/PROJECT")

// parse reads a DSN: scheme://key@host/path/project. A secret after the key is of older servers, and not needed.
func (c *SentryConfig) parse(dsn string) error {
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" || u.User == nil || u.User.Username() == "" ||
		u.Scheme != "https" && u.Scheme != "http" {
		return errDSN // the parser's error would repeat the key
	}
	folder, project := path.Split(strings.TrimSuffix(u.Path, "/"))
	if project == "" {
		return errDSN
	}
	c.key = u.User.Username()
	c.endpoint = &url.URL{
		Scheme: u.Scheme, Host: u.Host,
		Path: path.Join("/", folder, "api", project, "envelope") + "/",
	}
	return nil
}
