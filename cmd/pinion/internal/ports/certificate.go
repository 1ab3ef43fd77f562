package ports

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/usertext"
)

// certificateLook is the time between two looks at the files. Only handshakes look.
const certificateLook = time.Second

// Certificate is what clients are shown, and whose certificates are asked for. Its files are read again when they
// change.
type Certificate struct {
	files config.TLSFiles
	log   *slog.Logger

	mu      sync.Mutex
	looked  time.Time
	seen    [3]os.FileInfo
	pair    tls.Certificate
	clients *x509.CertPool // nil means clients need none
}

// OpenCertificate reads the files of --tls-cert; nil means the server speaks no TLS.
func OpenCertificate(files config.TLSFiles, log *slog.Logger) (*Certificate, error) {
	if files.Cert == "" {
		return nil, nil
	}
	c := &Certificate{files: files, log: log}
	c.isChanged()
	if err := c.read(); err != nil {
		return nil, process.Misused(err)
	}
	return c, nil
}

// of returns the configuration of a port: the only protocol that is spoken there, and whether it is for clients, or for
// those who watch the server. Nil means no TLS.
func (c *Certificate) of(protocol string, forClients bool) *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{protocol},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if now := time.Now(); now.Sub(c.looked) > certificateLook {
				if c.looked = now; c.isChanged() {
					if err := c.read(); err != nil {
						c.log.Error("the certificate is not read again: the one read before stays", "error", err)
					}
				}
			}
			current := &tls.Config{
				MinVersion: tls.VersionTLS12, NextProtos: []string{protocol}, Certificates: []tls.Certificate{c.pair},
			}
			if c.clients != nil && forClients {
				// A resumed session would not be checked against a list that has changed.
				current.SessionTicketsDisabled = true
				current.ClientCAs, current.ClientAuth = c.clients, tls.RequireAndVerifyClientCert
			}
			return current, nil
		},
	}
}

const protocolHTTP = "http/1.1"

// ForMonitor returns the configuration of the port for those who watch the server.
func (c *Certificate) ForMonitor() *tls.Config { return c.of(protocolHTTP, false) }

// ForHTTP returns the configuration of the port for requests: a socket of this machine has no TLS.
func (c *Certificate) ForHTTP(e *config.Exposure) *tls.Config {
	if strings.HasPrefix(e.Address(), "unix:") {
		return nil
	}
	return c.of(protocolHTTP, true)
}

// isChanged reports whether a file is another than at the last look. A file that is missing for a moment is not.
func (c *Certificate) isChanged() (changed bool) {
	for i, path := range []string{c.files.Cert, c.files.Key, c.files.ClientCA} {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		old := c.seen[i]
		if old == nil || !os.SameFile(old, info) || !old.ModTime().Equal(info.ModTime()) || old.Size() != info.Size() {
			c.seen[i], changed = info, true
		}
	}
	return changed
}

func (c *Certificate) read() error {
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("--tls-cert %s, --tls-key %s: %w", c.files.Cert, c.files.Key, usertext.Reason(err))
	}
	clients := c.clients
	if path := c.files.ClientCA; path != "" {
		text, err := os.ReadFile(path)
		clients = x509.NewCertPool()
		if err == nil && !clients.AppendCertsFromPEM(text) {
			err = errors.New("the file has no certificate")
		}
		if err != nil {
			return fmt.Errorf("--tls-client-ca %s: %w", path, usertext.Reason(err))
		}
	}
	c.pair, c.clients = pair, clients
	log := c.log.Info
	if time.Now().After(pair.Leaf.NotAfter) {
		log = c.log.Warn
	}
	log("certificate read", "file", c.files.Cert, "names", pair.Leaf.DNSNames, "expires", pair.Leaf.NotAfter)
	return nil
}
