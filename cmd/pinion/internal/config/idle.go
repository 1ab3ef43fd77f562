package config

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// idleFlags returns warnings of flags that are given and have no effect beside the others.
func (s *Server) idleFlags(f *pflag.FlagSet) (warnings []string) {
	_, embedded := s.Jobs.NATS.Embeds()
	for _, c := range []struct {
		idle  bool
		why   string
		flags []string
	}{
		{s.Exposure.AuthFile == "", "without --auth-token-file", []string{"auth-public"}},
		{s.Exposure.NoShutdown, "with --no-shutdown", []string{"shutdown-from"}},
		{s.Exposure.Dashboard.Off, "with --no-dashboard", []string{"dashboard-content", "dashboard-trace-url"}},
		{strings.HasPrefix(s.Exposure.host, "unix:"), "with --host unix:/path", []string{"port"}},
		{!s.Jobs.NATS.On(), "without --nats", []string{
			"nats-replicas", "jobs-capacity", "jobs-bytes", "tenant-header", "lanes", "attempts", "ack-wait",
		}},
		{!embedded, "without --nats embed", []string{"nats-sync"}},
	} {
		for _, name := range c.flags {
			if c.idle && f.Changed(name) {
				warnings = append(warnings, fmt.Sprintf("--%s has no effect %s", name, c.why))
			}
		}
	}
	return warnings
}
