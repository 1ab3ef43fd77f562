package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"pinion/httpd/protocol"
	"pinion/runtime/supervise"
)

// idleRule says which flags have no effect beside others.
type idleRule struct {
	idle  bool
	why   string
	flags []string
}

// idleFlags returns warnings of flags that are given and have no effect.
func idleFlags(f *pflag.FlagSet, rules ...idleRule) (warnings []string) {
	for _, r := range rules {
		for _, name := range r.flags {
			if r.idle && f.Changed(name) {
				warnings = append(warnings, fmt.Sprintf("--%s has no effect %s", name, r.why))
			}
		}
	}
	return warnings
}

func (s *Server) idleRules() []idleRule {
	_, embedded := s.Jobs.NATS.Embeds()
	return []idleRule{
		s.Protocols.idleRule(),
		{s.Exposure.AuthFile == "", "without --auth-token-file", []string{"auth-public"}},
		{s.Exposure.NoShutdown, "with --no-shutdown", []string{"shutdown-from"}},
		{s.Exposure.Dashboard.Off, "with --no-dashboard", []string{"dashboard-content", "dashboard-trace-url"}},
		{strings.HasPrefix(s.Exposure.host, "unix:"), "with --host unix:/path", []string{"port"}},
		{!s.Jobs.NATS.On(), "without --nats", []string{
			"nats-replicas", "jobs-capacity", "jobs-bytes", "tenant-header", "lanes", "attempts", "ack-wait",
		}},
		{!embedded, "without --nats embed", []string{"nats-sync"}},
	}
}

func (s *Protocols) idleRule() idleRule {
	strict := slices.Contains(s.Names, protocol.OpenAI) || slices.Contains(s.Names, protocol.Anthropic)
	return idleRule{!strict, "without openai or anthropic in --protocols", []string{"openai-strict"}}
}

func (s *Model) idleRule() idleRule {
	return idleRule{s.Restart == string(supervise.Never), "with --restart never", []string{"setup-retries"}}
}

// idleRules is about flags of the server that need a model with some setting.
func (s *Models) idleRules() []idleRule {
	none := func(has func(Named) bool) bool { return !slices.ContainsFunc(s.List, has) }
	return []idleRule{
		{
			none(func(m Named) bool { return m.Settings.Loading.When == AtStartup }), "without --load " + AtStartup,
			[]string{"fail-fast"},
		},
		{none(func(m Named) bool { return m.Settings.ResultTTL > 0 }), "with --result-ttl 0", []string{"replay-puts"}},
	}
}
