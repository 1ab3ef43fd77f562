package config

import (
	"fmt"
	"os"
	"strings"

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
	TLS               TLSFiles
	authPublic        []string
	metricsHost       string // "" means that of the server
	MetricsPort       int    // -1 means none
	Dashboard         Dashboard
}

// TLSFiles are the files of --tls-cert, --tls-key and --tls-client-ca; "" means none.
type TLSFiles struct{ Cert, Key, ClientCA string }

// Values of --shutdown-from: the clients that may ask for a shutdown.
const (
	fromLocal = "local"
	FromAny   = "any"
)

// Values of --auth-public.
const (
	publicDocs    = "docs"
	publicOpenAPI = "openapi"
	publicMetrics = "metrics"
)

// doors returns the settings that a gateway has too; program is what the help calls it.
func (s *Exposure) doors(program string) usertext.Settings {
	return usertext.Settings{
		hostSetting(&s.host),
		{
			To: &s.AllowedHosts, Name: "allowed-host", Variable: usertext.NoVariable, Group: usertext.GroupAccess,
			Help: "a name of " + program + " at which its pages work over plain http, as gpu.example.com; may be repeated " +
				"(IP addresses and local names always work)",
			Parse: parseAllowedHost,
		},
		{
			To: &s.AuthFile, Name: "auth-token-file", Group: usertext.GroupAccess, Common: true,
			Help: "file of bearer tokens, one per line; requests without a token are refused",
		},
		{
			To: &s.TLS.Cert, Name: "tls-cert", Group: usertext.GroupAccess,
			Help: "file of the certificate, with those between it and the root (PEM): " + program + " speaks https, and TLS over " +
				"gRPC; read again when it changes",
		},
		{
			To: &s.TLS.Key, Name: "tls-key", Group: usertext.GroupAccess,
			Help: "file of the private key of --tls-cert (PEM)",
		},
		{
			To: &s.TLS.ClientCA, Name: "tls-client-ca", Group: usertext.GroupAccess,
			Help: "file of the roots (PEM) of which one must have signed the certificate of each client",
		},
	}
}

func (s *Exposure) settings() usertext.Settings {
	return append(s.doors("this server"), append(usertext.Settings{
		{
			To: &s.CORSOrigins, Name: "cors-origin", Variable: usertext.NoVariable, Group: usertext.GroupAccess,
			Help: "an origin whose pages may call this server, as https://example.com or https://*.example.com; * for all; " +
				"may be repeated",
			Parse: usertext.ParseOrigin,
		},
		{
			To: &s.ShutdownFrom, Name: "shutdown-from", Init: fromLocal, Words: []string{fromLocal, FromAny}, Group: usertext.GroupAccess,
			Help: "local or any: who may POST /shutdown, programs on this machine or every client",
			Idle: func() string { return when(s.NoShutdown, "with --no-shutdown") },
		},
		{To: &s.NoShutdown, Name: "no-shutdown", Group: usertext.GroupAccess, Help: "do not serve POST /shutdown"},
		{
			To: &s.reload, Name: "reload", Group: usertext.GroupWorkers,
			Help: "let programs on this machine, and clients with a token, reload, load and unload models: new workers on the " +
				"changed model",
		},
		{
			To: &s.AllowModelControl, Name: "allow-model-control", Group: usertext.GroupAccess,
			Help: "let every client reload, load and unload models, and shift traffic between versions",
		},
		{
			To: &s.authPublic, Name: "auth-public", Init: []string{publicDocs}, Group: usertext.GroupAccess,
			Words: []string{publicDocs, publicOpenAPI, publicMetrics, usertext.None},
			Help: "pages that need no token: docs (with the page of the live view, without its data), openapi, metrics, " +
				"or none",
			Idle: func() string { return when(s.AuthFile == "", "without --auth-token-file") },
		},
		{
			To: &s.MetricsPort, Name: "metrics-port", Init: noPort, Max: usertext.MaxPort, Group: usertext.GroupAccess,
			Help: "a port for /metrics and the probes alone, which asks for no token; without --auth-token-file also for " +
				"/dashboard; 0 picks a free one",
			Default: "the server's own port",
		},
		{
			To: &s.metricsHost, Name: "metrics-host", Group: usertext.GroupAccess, Parse: usertext.ParseHost,
			Help: "address to listen on with --metrics-port", Default: "that of --host",
		},
	}, s.Dashboard.settings()...)...)
}

func hostSetting(to *string) usertext.Setting {
	return usertext.Setting{
		To: to, Name: "host", Group: usertext.GroupAccess, Common: true, Parse: usertext.ParseHost,
		Help: "address to listen on, or unix:/path", Default: "127.0.0.1, in a container 0.0.0.0",
	}
}

// parseAllowedHost converts a name to the form that the server compares.
func parseAllowedHost(v string) (string, error) {
	name := strings.ToLower(strings.TrimSuffix(v, "."))
	if name == "" || strings.ContainsAny(name, ":/*@ []") {
		return "", fmt.Errorf("%q: give a name alone, without scheme and port, as gpu.example.com", v)
	}
	return name, nil
}

func (s *Exposure) check() error {
	switch {
	case s.TLS.Cert != "" && s.TLS.Key == "":
		return fmt.Errorf("--tls-cert %s needs --tls-key, the file of its private key", s.TLS.Cert)
	case s.TLS.Cert == "" && s.TLS.Key != "":
		return fmt.Errorf("--tls-key %s needs --tls-cert, the file of its certificate", s.TLS.Key)
	case s.TLS.Cert == "" && s.TLS.ClientCA != "":
		return fmt.Errorf("--tls-client-ca %s needs --tls-cert and --tls-key", s.TLS.ClientCA)
	}
	if s.MetricsPort < 0 && s.metricsHost != "" {
		return fmt.Errorf("--metrics-host %s needs --metrics-port", s.metricsHost)
	}
	return nil
}

// Public returns the paths that need no token.
func (s *Exposure) Public() (paths []string) {
	for _, name := range s.authPublic {
		switch name {
		case publicDocs:
			paths = append(paths, "/docs", "/dashboard")
		case publicMetrics:
			paths = append(paths, "/metrics")
		case publicOpenAPI:
			paths = append(paths, "/openapi.json")
		}
	}
	return paths
}

// ModelControl reports whether some clients may reload, load and unload models.
func (s *Exposure) ModelControl() bool { return s.reload || s.AllowModelControl }

// MonitorAddress returns the address to listen on with --metrics-port.
func (s *Exposure) MonitorAddress() string {
	switch {
	case s.metricsHost != "":
		return s.metricsHost
	case s.onSocket():
		return "127.0.0.1"
	default:
		return s.Address()
	}
}

// onSocket reports whether the server listens on a unix socket.
func (s *Exposure) onSocket() bool { return strings.HasPrefix(s.host, "unix:") }

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
