package config

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/usertext"
)

// Exposure says who may reach the server, and what they may do.
type Exposure struct {
	host         string // "" means the default; see Address
	CORSOrigins  []string
	AllowedHosts []string // names in lower case
	ShutdownFrom string
	NoShutdown   bool
	reload       bool
	// AllowModelControl lets every client load, unload and reload models.
	AllowModelControl bool
	AuthFile          string
	authPublic        []string
	metricsHost       string // "" means that of the server
	MetricsPort       int    // -1 means none
	Dashboard         Dashboard
}

// Values of --shutdown-from: the clients that may ask for a shutdown.
const (
	fromLocal = "local"
	FromAny   = "any"
)

func (s *Exposure) bindFlags(f *pflag.FlagSet) {
	f.StringVar(&s.host, "host", "",
		"address to listen on, or unix:/path (PINION_HOST; default: 127.0.0.1, in a container 0.0.0.0)")
	f.StringArrayVar(&s.CORSOrigins, "cors-origin", nil,
		"an origin whose pages may call this server, as https://example.com or https://*.example.com; * for all; may be repeated")
	f.StringArrayVar(&s.AllowedHosts, "allowed-host", nil,
		"a name of this server at which its pages work over plain http, as gpu.example.com; may be repeated (IP addresses and local names always work)")
	f.StringVar(&s.ShutdownFrom, "shutdown-from", fromLocal,
		"local or any: who may POST /shutdown, programs on this machine or every client (PINION_SHUTDOWN_FROM)")
	f.BoolVar(&s.NoShutdown, "no-shutdown", false, "do not serve POST /shutdown (PINION_NO_SHUTDOWN)")
	f.BoolVar(&s.reload, "reload", false,
		"let programs on this machine, and clients with a token, reload, load and unload models: new workers on the changed model (PINION_RELOAD)")
	f.BoolVar(&s.AllowModelControl, "allow-model-control", false,
		"let every client reload, load and unload models, and shift traffic between versions (PINION_ALLOW_MODEL_CONTROL)")
	f.StringVar(&s.AuthFile, "auth-token-file", "",
		"file of bearer tokens, one per line; requests without a token are refused (PINION_AUTH_TOKEN_FILE)")
	f.StringSliceVar(&s.authPublic, "auth-public", []string{"docs"},
		"pages that need no token: docs (with the page of the live view, without its data), openapi, metrics, or none (PINION_AUTH_PUBLIC)")
	f.IntVar(&s.MetricsPort, "metrics-port", -1,
		"a port for /metrics and the probes alone, which asks for no token; without --auth-token-file also for /dashboard; 0 picks a free one (PINION_METRICS_PORT; default: the server's own port)")
	f.Lookup("metrics-port").DefValue = "0" // the usage text names the default
	s.Dashboard.bindFlags(f)
	f.StringVar(&s.metricsHost, "metrics-host", "",
		"address to listen on with --metrics-port (PINION_METRICS_HOST; default: that of --host)")
}

func (s *Exposure) variables(f *pflag.FlagSet) []Variable {
	return slices.Concat(
		variablesOf(f, "host", "no-shutdown", "reload", "allow-model-control"),
		variablesOf(f, "auth-token-file", "auth-public", "metrics-host"),
		variablesOf(f, "no-dashboard", "dashboard-content", "dashboard-trace-url"),
		numbers(f, 0, "metrics-port"),
		[]Variable{choice(f, "shutdown-from", fromLocal, FromAny)},
	)
}

func (s *Exposure) check() error {
	if err := cmp.Or(s.checkHosts(), s.checkOrigins(), s.checkAllowedHosts()); err != nil {
		return err
	}
	if s.ShutdownFrom != fromLocal && s.ShutdownFrom != FromAny {
		return fmt.Errorf("--shutdown-from %q: must be local or any", s.ShutdownFrom)
	}
	if s.MetricsPort < -1 || s.MetricsPort > 65535 {
		return fmt.Errorf("--metrics-port %d: must be 0 to 65535", s.MetricsPort)
	}
	if s.MetricsPort < 0 && s.metricsHost != "" {
		return fmt.Errorf("--metrics-host %s needs --metrics-port", s.metricsHost)
	}
	if _, err := s.Public(); err != nil {
		return err
	}
	return s.Dashboard.check()
}

func (s *Exposure) checkHosts() (err error) {
	for flag, host := range map[string]*string{"host": &s.host, "metrics-host": &s.metricsHost} {
		if *host, err = usertext.ParseHost(*host); err != nil {
			return fmt.Errorf("--%s %w", flag, err)
		}
	}
	return nil
}

// checkOrigins converts the origins to the form that browsers send.
func (s *Exposure) checkOrigins() error {
	var origins []string
	for _, text := range s.CORSOrigins {
		for part := range strings.SplitSeq(text, ",") {
			origin, err := usertext.ParseOrigin(part)
			if err != nil {
				return fmt.Errorf("--cors-origin %w", err)
			}
			origins = append(origins, origin)
		}
	}
	s.CORSOrigins = origins
	return nil
}

// checkAllowedHosts converts the names to the form that the server compares.
func (s *Exposure) checkAllowedHosts() error {
	var names []string
	for _, text := range s.AllowedHosts {
		for part := range strings.SplitSeq(text, ",") {
			name := strings.ToLower(strings.TrimSuffix(strings.TrimSpace(part), "."))
			if name == "" || strings.ContainsAny(name, ":/*@ []") {
				return fmt.Errorf("--allowed-host %q: give a name alone, without scheme and port, as gpu.example.com", part)
			}
			names = append(names, name)
		}
	}
	s.AllowedHosts = names
	return nil
}

// Public returns the paths that need no token.
func (s *Exposure) Public() (paths []string, err error) {
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
			return nil, fmt.Errorf("--auth-public %q: must be docs, openapi, metrics or none", name)
		}
	}
	return paths, nil
}

// ModelControl reports whether some clients may reload, load and unload models.
func (s *Exposure) ModelControl() bool { return s.reload || s.AllowModelControl }

// MonitorAddress returns the address to listen on with --metrics-port.
func (s *Exposure) MonitorAddress() string {
	switch {
	case s.metricsHost != "":
		return s.metricsHost
	case strings.HasPrefix(s.Address(), "unix:"):
		return "127.0.0.1"
	default:
		return s.Address()
	}
}

// Address returns the address to listen on. The default is this machine alone, but all addresses in a container: its
// network decides who reaches it, and its loopback address cannot be reached from outside.
func (s *Exposure) Address() string {
	switch {
	case s.host != "":
		return s.host
	case inContainer(os.Getpid(), os.Getenv, exists):
		return "0.0.0.0"
	default:
		return "127.0.0.1"
	}
}

// inContainer reports whether a process is in a container, by what Docker, Podman and Kubernetes leave there.
func inContainer(pid int, env func(string) string, exists func(string) bool) bool {
	return pid == 1 || env("KUBERNETES_SERVICE_HOST") != "" || exists("/.dockerenv") || exists("/run/.containerenv")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
