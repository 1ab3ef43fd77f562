package logging

import (
	"regexp"
	"strings"

	"pinion/runtime/logtext"
)

const (
	filtered  = "[Filtered]" // as Sentry's SDKs write it
	maxText   = 4 << 10      // bytes of a text in a report
	minSecret = 6            // shorter values of variables occur in ordinary words
)

// secretsOf returns the values of the variables whose names say that they are secret.
func secretsOf(environ []string) (values []string) {
	names := regexp.MustCompile(`(?i)(key|token|secret|passw|credential|dsn|auth)`)
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok && len(value) >= minSecret && names.MatchString(name) {
			values = append(values, value)
		}
	}
	return values
}

// scrubber takes secrets out of texts.
type scrubber struct {
	values   *strings.Replacer
	patterns []*regexp.Regexp
}

func newScrubber(secrets []string) scrubber {
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, filtered)
	}
	return scrubber{strings.NewReplacer(pairs...), []*regexp.Regexp{
		// a URL's query, which may be signed
		regexp.MustCompile(`(https?://[^\s?"']+\?)[^\s"']*`),
		regexp.MustCompile(`(://)[^/\s@]+@`),                                                              // its credentials
		regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{6,}`),                           // an Authorization
		regexp.MustCompile(`(?i)((?:token|secret|passw(?:or)?d|api_?key)["']?\s*[=:]\s*["']?)[^\s"',;]+`), // name=value
		regexp.MustCompile(`(data:[^\s"',;]*;base64,)[A-Za-z0-9+/=]+`),
	}}
}

// clean returns a text without secrets, and not longer than a report may have.
func (s scrubber) clean(text string) string {
	text = s.values.Replace(logtext.Head(text, 4*maxText))
	for _, p := range s.patterns {
		text = p.ReplaceAllString(text, "${1}"+filtered)
	}
	return strings.ToValidUTF8(logtext.ClipTo(text, maxText), "\uFFFD")
}
