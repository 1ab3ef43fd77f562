package main

import (
	"fmt"
	"os"
	"strings"

	"pinion/cmd/pinion/internal/option"

	"github.com/spf13/pflag"
)

// exposureSettings say who may reach the server, and what they may do.
type exposureSettings struct {
	host         string // "": the default, see address
	corsOrigins  []string
	shutdownFrom string
	noShutdown   bool
	authFile     string
	authPublic   []string
	metricsHost  string // "": that of the server
	metricsPort  int    // -1: none
	dashboard    dashboardSettings
}

// Who may ask for a shutdown.
const (
	fromLocal = "local"
	fromAny   = "any"
)

func (s *exposureSettings) bindFlags(f *pflag.FlagSet) {
	f.StringVar(&s.host, "host", "", "address to listen on, or unix:/path (PINION_HOST; default: 127.0.0.1, in a container 0.0.0.0)")
	f.StringArrayVar(&s.corsOrigins, "cors-origin", nil, "an origin whose pages may call this server, as https://example.com; * for all; may be repeated")
	f.StringVar(&s.shutdownFrom, "shutdown-from", fromLocal, "local or any: who may POST /shutdown, programs on this machine or every client (PINION_SHUTDOWN_FROM)")
	f.BoolVar(&s.noShutdown, "no-shutdown", false, "do not serve POST /shutdown (PINION_NO_SHUTDOWN)")
	f.StringVar(&s.authFile, "auth-token-file", "", "file of bearer tokens, one per line; requests without a token are refused (PINION_AUTH_TOKEN_FILE)")
	f.StringSliceVar(&s.authPublic, "auth-public", []string{"docs"}, "pages that need no token: docs (with the page of the live view, without its data), openapi, metrics, or none (PINION_AUTH_PUBLIC)")
	f.IntVar(&s.metricsPort, "metrics-port", -1, "a port for /metrics and the probes alone, which asks for no token; without --auth-token-file also for /dashboard; 0 picks a free one (PINION_METRICS_PORT; default: the server's own port)")
	f.Lookup("metrics-port").DefValue = "0" // the usage text names the default
	s.dashboard.bindFlags(f)
	f.StringVar(&s.metricsHost, "metrics-host", "", "address to listen on with --metrics-port (PINION_METRICS_HOST; default: that of --host)")
}

func (s *exposureSettings) variables() []ourVariable {
	return append(s.dashboard.variables(), []ourVariable{
		{"host", "PINION_HOST", func(v string) error { s.host = v; return nil }},
		{"shutdown-from", "PINION_SHUTDOWN_FROM", func(v string) error { return option.SetChoice(&s.shutdownFrom, v, fromLocal, fromAny) }},
		{"no-shutdown", "PINION_NO_SHUTDOWN", func(v string) error { return option.Bool(&s.noShutdown, v) }},
		{"auth-token-file", "PINION_AUTH_TOKEN_FILE", func(v string) error { s.authFile = v; return nil }},
		{"auth-public", "PINION_AUTH_PUBLIC", func(v string) error { s.authPublic = strings.Split(v, ","); return nil }},
		{"metrics-port", "PINION_METRICS_PORT", func(v string) error { return option.Int(&s.metricsPort, v, 0) }},
		{"metrics-host", "PINION_METRICS_HOST", func(v string) error { s.metricsHost = v; return nil }},
	}...)
}

// check refuses what no flag or variable may say.
func (s *exposureSettings) check() error {
	if s.shutdownFrom != fromLocal && s.shutdownFrom != fromAny {
		return fmt.Errorf("--shutdown-from %q: it is local or any", s.shutdownFrom)
	}
	if s.metricsPort < -1 || s.metricsPort > 65535 {
		return fmt.Errorf("--metrics-port %d: a port is 0 to 65535", s.metricsPort)
	}
	if s.metricsPort < 0 && s.metricsHost != "" {
		return fmt.Errorf("--metrics-host %s: it needs --metrics-port", s.metricsHost)
	}
	if _, err := s.public(); err != nil {
		return err
	}
	return s.dashboard.check()
}

// public are the paths that need no token.
func (s *exposureSettings) public() (paths []string, err error) {
	for _, name := range s.authPublic {
		switch name = strings.TrimSpace(name); name {
		case "docs":
			paths = append(paths, "/docs", "/dashboard")
		case "metrics":
			paths = append(paths, "/metrics")
		case "openapi":
			paths = append(paths, "/openapi.json")
		case "none":
		default:
			return nil, fmt.Errorf("--auth-public %q: it is docs, openapi, metrics or none", name)
		}
	}
	return paths, nil
}

// monitorAddress is the address to listen on with --metrics-port.
func (s *exposureSettings) monitorAddress() string {
	switch {
	case s.metricsHost != "":
		return s.metricsHost
	case strings.HasPrefix(s.address(), "unix:"):
		return "127.0.0.1"
	default:
		return s.address()
	}
}

// address is the address to listen on. The default is this machine alone, but all addresses in a container: its network
// decides who reaches it, and its loopback address cannot be reached from outside.
func (s *exposureSettings) address() string {
	switch {
	case s.host != "":
		return s.host
	case inContainer(os.Getpid(), os.Getenv, exists):
		return "0.0.0.0"
	default:
		return "127.0.0.1"
	}
}

// inContainer tells whether a process is in a container, by what Docker, Podman and Kubernetes leave there.
func inContainer(pid int, env func(string) string, exists func(string) bool) bool {
	return pid == 1 || env("KUBERNETES_SERVICE_HOST") != "" || exists("/.dockerenv") || exists("/run/.containerenv")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
