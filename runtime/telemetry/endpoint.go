package telemetry

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"
	"strings"
	"time"
)

// The signals, as variables and paths name them.
const (
	signalTraces  = "traces"
	signalMetrics = "metrics"
	signalLogs    = "logs"
)

type Exporter struct {
	GRPC     bool   // else http/protobuf
	URL      string // of HTTP: with the signal's path
	Insecure bool   // gRPC without TLS
	Headers  map[string]string
	Gzip     bool
	Timeout  time.Duration
	TLS      *tls.Config // nil means the system's certificates
}

// defaultTimeout is how long one attempt to send may take, by the specification.
const defaultTimeout = 10 * time.Second

// exporterName returns otlp or none. The variable is a list; a signal that is for other exporters alone is not sent.
func (e *environment) exporterName(signal string) string {
	name, value := e.first("OTEL_" + strings.ToUpper(signal) + "_EXPORTER")
	if name == "" {
		return exporterOTLP
	}
	found := exporterNone
	for word := range strings.SplitSeq(value, ",") {
		switch word = strings.TrimSpace(word); word {
		case exporterOTLP:
			found = exporterOTLP
		case exporterNone, "":
		default:
			e.warn("%s: %q is ignored: must be %s or %s", name, shorten(word), exporterOTLP, exporterNone)
		}
	}
	return found
}

// exporter reads where a signal goes; nil means it is off, or no endpoint is set. All variables are read nevertheless.
func (e *environment) exporter(signal string, off bool) *Exporter {
	name := e.exporterName(signal)
	variable := func(end string) []string {
		return []string{"OTEL_EXPORTER_OTLP_" + strings.ToUpper(signal) + "_" + end, "OTEL_EXPORTER_OTLP_" + end}
	}
	// http is Cog's word for http/protobuf
	protocol := e.choice("http/protobuf", []string{"http/protobuf", "grpc", "http"}, variable("PROTOCOL")...)
	x := &Exporter{
		GRPC:     protocol == "grpc",
		Headers:  e.pairs(true, variable("HEADERS")...),
		Gzip:     e.choice("none", []string{"gzip", "none"}, variable("COMPRESSION")...) == "gzip",
		Timeout:  e.milliseconds(variable("TIMEOUT")...),
		Insecure: e.anyIs(true, variable("INSECURE")...),
		TLS:      e.tlsConfig(variable),
	}
	x.Timeout = cmp.Or(x.Timeout, defaultTimeout)
	from, endpoint := e.first(variable("ENDPOINT")...)
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	if x.GRPC && (err != nil || u.Host == "") { // host:port, which gRPC takes too
		u, err = url.Parse("https://" + endpoint)
		if err == nil && x.Insecure {
			u.Scheme = "http"
		}
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		e.fail(from, redact(endpoint), "an http or https URL, such as http://localhost:4318")
		return nil
	}
	if path := "/v1/" + signal; !x.GRPC && from == variable("ENDPOINT")[1] &&
		!strings.HasSuffix(strings.TrimRight(u.Path, "/"), path) {
		u.Path = strings.TrimRight(u.Path, "/") + path
	}
	x.URL, x.Insecure = u.String(), u.Scheme == "http"
	if off || name == exporterNone {
		return nil
	}
	return x
}

// anyIs reports whether the first of these switches that is set has that value.
func (e *environment) anyIs(on bool, names ...string) bool {
	name, _ := e.first(names...)
	return name != "" && e.is(name, on)
}

// tlsConfig reads the certificates; nil means none are set.
func (e *environment) tlsConfig(variable func(string) []string) *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	authority, file := e.first(variable("CERTIFICATE")...)
	if file != "" {
		config.RootCAs = x509.NewCertPool()
		if pem, err := os.ReadFile(file); err != nil || !config.RootCAs.AppendCertsFromPEM(pem) {
			e.fail(authority, file, "a readable file with certificates in PEM form")
			config.RootCAs, file = nil, ""
		}
	}
	certificate, certFile := e.first(variable("CLIENT_CERTIFICATE")...)
	_, keyFile := e.first(variable("CLIENT_KEY")...)
	if certFile != "" {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			e.warn("%s: %q is ignored: must be a certificate in PEM form, and %s is its key: %v", certificate, certFile,
				variable("CLIENT_KEY")[1], err)
			certFile = ""
		} else {
			config.Certificates = []tls.Certificate{pair}
		}
	}
	if file == "" && certFile == "" {
		return nil
	}
	return config
}

// redact removes what may be a user and a password from an address for a message. The address need not be a URL.
func redact(endpoint string) string {
	scheme, rest, found := strings.Cut(endpoint, "://")
	if !found {
		scheme, rest = "", endpoint
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = "…" + rest[at:]
	}
	if found {
		return scheme + "://" + rest
	}
	return rest
}
