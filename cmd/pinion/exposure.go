package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
)

// exposureSettings say who may reach the server, and what they may do.
type exposureSettings struct {
	host         string // "": the default, see address
	corsOrigins  []string
	shutdownFrom string
	noShutdown   bool
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
	f.BoolVar(&s.noShutdown, "no-shutdown", false, "POST /shutdown is not found (PINION_NO_SHUTDOWN)")
}

func (s *exposureSettings) variables() []ourVariable {
	return []ourVariable{
		{"host", "PINION_HOST", func(v string) error { s.host = v; return nil }},
		{"shutdown-from", "PINION_SHUTDOWN_FROM", func(v string) error { return setChoice(&s.shutdownFrom, v, fromLocal, fromAny) }},
		{"no-shutdown", "PINION_NO_SHUTDOWN", func(v string) error { return setBool(&s.noShutdown, v) }},
	}
}

// check refuses what no flag or variable may say.
func (s *exposureSettings) check() error {
	if s.shutdownFrom != fromLocal && s.shutdownFrom != fromAny {
		return fmt.Errorf("--shutdown-from %q: it is local or any", s.shutdownFrom)
	}
	return nil
}

// address is the address to listen on. A server that nobody configured is for its own machine. A container's own
// network decides who reaches it, and its loopback address would be reached by nobody.
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
