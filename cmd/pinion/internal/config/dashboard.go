package config

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/usertext"
)

// Dashboard is the flags and variables of the live view.
type Dashboard struct {
	Off, Content bool
	TraceURL     string
}

// traceMark stands for a trace's id in --dashboard-trace-url.
const traceMark = "{trace_id}"

func (s *Dashboard) bindFlags(f *pflag.FlagSet) {
	f.BoolVar(&s.Off, "no-dashboard", false, "do not serve the live view at /dashboard (PINION_NO_DASHBOARD)")
	f.BoolVar(&s.Content, "dashboard-content", false,
		"show inputs and outputs of predictions in the live view (PINION_DASHBOARD_CONTENT)")
	f.StringVar(&s.TraceURL, "dashboard-trace-url", "",
		"address of a trace, with "+traceMark+
			" for its id, to which the live view links (PINION_DASHBOARD_TRACE_URL; default: ids without a link)")
}

func (s *Dashboard) check() error {
	if s.TraceURL != "" && (!usertext.IsHTTP(s.TraceURL) || !strings.Contains(s.TraceURL, traceMark)) {
		return fmt.Errorf("--dashboard-trace-url %q: must be an http or https URL with %s in it, as https://tempo.example.com/trace/%s", s.TraceURL, traceMark, traceMark)
	}
	return nil
}

// ShownSummaries returns how many ended predictions are kept in short for the live view; see service.Options.
func (s *Dashboard) ShownSummaries() int {
	if s.Off {
		return 0
	}
	return 100
}
