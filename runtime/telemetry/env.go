package telemetry

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pinion/runtime/logtext"
)

// environment reads variables. For a wrong value the readers return defaults.
type environment struct {
	get      func(string) string
	warnings []string
	err      error // the first wrong value of cog.yaml, or of a variable of ours
}

// fail notes a wrong value. Only what was set for this very program is an error.
func (e *environment) fail(name, value, allowed string) {
	switch {
	case !strings.HasPrefix(name, "cog.yaml") && !strings.HasPrefix(name, "PINION_"):
		e.warn("%s: %q is ignored: must be %s", name, shorten(value), allowed)
	case e.err == nil:
		e.err = fmt.Errorf("%s: %q: must be %s", name, value, allowed)
	}
}

// warn notes a value that is ignored; once, because several signals read the same variables.
func (e *environment) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(e.warnings, text) {
		e.warnings = append(e.warnings, text)
	}
}

// shorten returns a value for a message.
func shorten(value string) string { return logtext.ClipTo(value, 100) }

// first returns the first of these variables that is set, with its value, or "" for none. A blank value counts as none,
// as OpenTelemetry has it.
func (e *environment) first(names ...string) (name, value string) {
	for _, name := range names {
		if value := strings.TrimSpace(e.get(name)); value != "" {
			return name, value
		}
	}
	return "", ""
}

// boolean reads a switch; nil means it is not set.
func (e *environment) boolean(name string) *bool {
	_, value := e.first(name)
	var on bool
	switch strings.ToLower(value) {
	case "":
		return nil
	case "1", "true", "yes":
		on = true
	case "0", "false", "no":
	default:
		e.fail(name, value, "true or false")
		return nil
	}
	return &on
}

// is reports whether a switch is set, and has that value.
func (e *environment) is(name string, on bool) bool {
	v := e.boolean(name)
	return v != nil && *v == on
}

// choice reads one of some words, from the first of the variables that is set.
func (e *environment) choice(otherwise string, allowed []string, names ...string) string {
	name, value := e.first(names...)
	if name == "" {
		return otherwise
	}
	if !slices.Contains(allowed, value) {
		e.fail(name, value, oneOf(allowed))
		return otherwise
	}
	return value
}

// milliseconds reads a time, of at least 1 ms; 0 means it is not set.
func (e *environment) milliseconds(names ...string) time.Duration {
	return time.Duration(e.count("a whole number of milliseconds, at least 1", names...)) * time.Millisecond
}

// count reads a number of at least 1; 0 means it is not set.
func (e *environment) count(allowed string, names ...string) int {
	name, value := e.first(names...)
	if name == "" {
		return 0
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > 1<<31-1 {
		e.fail(name, value, allowed)
		return 0
	}
	return n
}

// pairs reads name=value,… with URL-encoded values. secret means that errors do not repeat the value.
func (e *environment) pairs(secret bool, names ...string) map[string]string {
	name, value := e.first(names...)
	pairs := map[string]string{}
	for pair := range strings.SplitSeq(value, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		key, encoded, ok := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(encoded))
		if key = strings.TrimSpace(key); !ok || key == "" || err != nil {
			if secret {
				value = "…"
			}
			e.fail(name, value, "a list such as name=value,other=value, with URL-encoded values")
			return nil
		}
		pairs[key] = decoded
	}
	return pairs
}

// oneOf lists words for a message.
func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
