package config

import (
	"fmt"
	"strings"

	"pinion/cmd/pinion/internal/usertext"
)

// Dashboard is the settings of the live view.
type Dashboard struct {
	Off, Content bool
	TraceURL     string
}

// traceMark stands for a trace's id in --dashboard-trace-url.
const traceMark = "{trace_id}"

func (s *Dashboard) settings() usertext.Settings {
	off := func() string { return when(s.Off, "with --no-dashboard") }
	return usertext.Settings{
		{
			To: &s.Off, Name: "no-dashboard", Group: usertext.GroupAccess,
			Help: "do not serve the live view at /dashboard",
		},
		{
			To: &s.Content, Name: "dashboard-content", Group: usertext.GroupAccess, Idle: off,
			Help: "show inputs and outputs of predictions in the live view",
		},
		{
			To: &s.TraceURL, Name: "dashboard-trace-url", Group: usertext.GroupAccess, Idle: off,
			Help:    "address of a trace, with " + traceMark + " for its id, to which the live view links",
			Default: "ids without a link",
			Parse: func(v string) (string, error) {
				if !usertext.IsHTTP(v) || !strings.Contains(v, traceMark) {
					return "", fmt.Errorf("%q: must be an http or https URL with %s in it, as https://tempo.example.com/trace/%s",
						v, traceMark, traceMark)
				}
				return v, nil
			},
		},
	}
}

// ShownSummaries returns how many ended predictions the live view lists.
func (s *Dashboard) ShownSummaries() int {
	if s.Off {
		return 0
	}
	return 100
}
