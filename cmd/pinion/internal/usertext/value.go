package usertext

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"pinion/runtime/egress"
	"pinion/runtime/nearest"
)

// MaxPort is the largest number of a port.
const MaxPort = 65535

// None is the word for an empty list.
const None = "none"

// ParseInt reads a whole number of at least least.
func ParseInt(to *int, v string, least int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < least {
		return fmt.Errorf("%q: must be a whole number of at least %d", v, least)
	}
	*to = n
	return nil
}

// ParseHeader reads what is sent in an HTTP header. Files of secrets often end with a newline, which is not part of it.
// The error does not repeat the value, because it may be a secret.
func ParseHeader(v string) (string, error) {
	v = strings.TrimSpace(v)
	if strings.ContainsFunc(v, unicode.IsControl) {
		return "", errors.New("must not hold control characters")
	}
	return v, nil
}

// ParseSeconds reads a number of seconds, or a duration like "1m30s".
func ParseSeconds(to *time.Duration, v string) error {
	if d, err := time.ParseDuration(v); err == nil && d >= 0 {
		*to = d
		return nil
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n >= 0 && n < 1e9) {
		return fmt.Errorf("%q: must be a number of seconds, or a time with its unit, as 500ms or 1m30s", v)
	}
	*to = time.Duration(n * float64(time.Second))
	return nil
}

// CheckChoice checks that a value is one of those that are allowed.
func CheckChoice(v string, allowed ...string) error {
	if slices.Contains(allowed, v) {
		return nil
	}
	last := len(allowed) - 1
	before, hint := strings.Join(allowed[:last], ", "), nearest.Hint(v, allowed)
	return fmt.Errorf("%q: must be %s or %s%s", v, before, allowed[last], hint)
}

func ParseBool(to *bool, v string) error {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return fmt.Errorf("%q: must be true or false", v)
	}
	*to = b
	return nil
}

// IsHTTP reports whether text is an absolute http or https URL.
func IsHTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && egress.Sendable(u)
}
