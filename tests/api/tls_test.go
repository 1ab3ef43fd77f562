package api

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// certify writes a certificate for 127.0.0.1 and its key into a folder, signed by parent, or by itself.
func certify(t *testing.T, folder, name string, parent *tls.Certificate) *tls.Certificate {
	t.Helper()
	key := assert.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	serial := assert.Must(rand.Int(rand.Reader, big.NewInt(1<<60)))(t)
	template := &x509.Certificate{
		SerialNumber: serial, NotAfter: time.Now().Add(time.Hour), IsCA: parent == nil, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{name},
	}
	signer, signed := any(key), template
	if parent != nil {
		signer, signed = parent.PrivateKey, parent.Leaf
	}
	der := assert.Must(x509.CreateCertificate(rand.Reader, template, signed, &key.PublicKey, signer))(t)
	secret := assert.Must(x509.MarshalPKCS8PrivateKey(key))(t)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyText := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	harness.WriteFile(t, filepath.Join(folder, name+".pem"), string(text))
	harness.WriteFile(t, filepath.Join(folder, name+".key"), string(keyText))
	pair := assert.Must(tls.X509KeyPair(text, keyText))(t)
	return &pair
}

// secured is a server with TLS, whose certificate files are in folder, and what its clients trust.
type secured struct {
	*harness.Server
	folder string
	root   *tls.Certificate
	client *tls.Config
}

func serveTLS(t *testing.T, o harness.Options) *secured {
	t.Helper()
	s := &secured{folder: t.TempDir()}
	s.root = certify(t, s.folder, "root", nil)
	certify(t, s.folder, "server", s.root)
	roots := x509.NewCertPool()
	roots.AddCert(s.root.Leaf)
	s.client = &tls.Config{RootCAs: roots}
	file := filepath.Join(s.folder, "server")
	o.Args = append(o.Args, "--tls-cert", file+".pem", "--tls-key", file+".key")
	s.Server = harness.Start(t, o)
	s.WaitLog("worker ready")
	return s
}

func (s *secured) dial(t *testing.T) *tls.Conn {
	t.Helper()
	c, err := tls.Dial("tcp", strings.TrimPrefix(s.Address, "https://"), s.client)
	assert.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// get asks a new connection, and returns the status and the name of the server's certificate.
func (s *secured) get(t *testing.T, path string) (status int, name string, err error) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: s.client, DisableKeepAlives: true}}
	answer, err := client.Get(s.Address + path)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, answer.TLS.PeerCertificates[0].DNSNames[0], err
}

// TestTLS_CancelsForClientsThatLeave over TLS as without, although they have sent more behind their request.
func TestTLS_CancelsForClientsThatLeave(t *testing.T) {
	t.Parallel()
	s := serveTLS(t, harness.Options{Model: "api/do.py:Runner"})
	c := s.dial(t)
	const body = `{"input":{"do":["sleep"]}}`
	_, err := fmt.Fprintf(c, "POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	assert.NoError(t, err)
	s.WaitLog("sleeps")
	_, err = fmt.Fprint(c, strings.Repeat("x", 3<<20))
	assert.NoError(t, err)
	c.Close()
	s.WaitLog("woken by a cancel")
	assert.Equal(t, "the protocol", s.dial(t).ConnectionState().NegotiatedProtocol, "") // this client offers none
}

// TestTLS_IsReadAgain: new files are the certificate of new connections, for HTTP and gRPC; those that do not belong
// together change nothing.
func TestTLS_IsReadAgain(t *testing.T) {
	t.Parallel()
	s := serveTLS(t, harness.Options{Model: "api/do.py:Runner", Args: []string{"--grpc-port", "0", "--metrics-port", "0"}})
	status, name, err := s.get(t, "/health-check")
	assert.NoError(t, err)
	assert.Equal(t, "status", status, 200)
	assert.Equal(t, "name", name, "server")
	kept := s.dial(t)

	certify(t, s.folder, "renewed", s.root)
	server := filepath.Join(s.folder, "server")
	harness.WriteFile(t, server+".pem", harness.ReadFile(t, filepath.Join(s.folder, "renewed.pem")))
	assert.Eventually(t, "the other key is refused", func() bool {
		_, name, err = s.get(t, "/health-check")
		assert.True(t, err == nil && name == "server", "got %q and %v, want the old certificate", name, err)
		return strings.Contains(s.Log.String(), "the certificate is not read again")
	})
	harness.WriteFile(t, server+".key", harness.ReadFile(t, filepath.Join(s.folder, "renewed.key")))
	assert.Eventually(t, "the new certificate", func() bool {
		_, name, err = s.get(t, "/health-check")
		return err == nil && name == "renewed"
	})
	_, err = fmt.Fprint(kept, "GET /health-check HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	assert.NoError(t, err)
	answer, err := io.ReadAll(kept)
	assert.True(t, err == nil && strings.HasPrefix(string(answer), "HTTP/1.1 200"),
		"got %v %.100q, want an answer", err, answer)

	conn := assert.Must(grpc.NewClient(s.GRPCAddress(), grpc.WithTransportCredentials(credentials.NewTLS(s.client))))(t)
	defer conn.Close()
	_, err = grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	assert.NoError(t, err)
}

// TestTLS_AsksClientsForCertificates of the roots that it has, at the doors of requests; who watches needs none.
func TestTLS_AsksClientsForCertificates(t *testing.T) {
	t.Parallel()
	clients := t.TempDir()
	root := certify(t, clients, "root", nil)
	known, foreign := certify(t, clients, "known", root), certify(t, t.TempDir(), "foreign", nil)
	s := serveTLS(t, harness.Options{
		Model: "api/do.py:Runner",
		Args:  []string{"--metrics-port", "0", "--grpc-port", "0", "--tls-client-ca", filepath.Join(clients, "root.pem")},
	})
	for _, c := range []struct {
		pair *tls.Certificate
		good bool
	}{{nil, false}, {foreign, false}, {known, true}} {
		s.client.Certificates = nil
		if c.pair != nil {
			s.client.Certificates = []tls.Certificate{*c.pair}
		}
		_, _, err := s.get(t, "/health-check")
		assert.True(t, (err == nil) == c.good, "got %v, want an answer: %v", err, c.good)
		conn, err := grpc.NewClient(s.GRPCAddress(), grpc.WithTransportCredentials(credentials.NewTLS(s.client.Clone())))
		assert.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), assert.Timeout)
		_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		assert.True(t, (err == nil) == c.good, "gRPC: got %v, want an answer: %v", err, c.good)
		cancel()
		conn.Close()
	}
	s.client.Certificates = nil
	line, _ := s.Log.Find("serving metrics and probes")
	s.Address = line.MetricsAddress
	status, _, err := s.get(t, "/health-check")
	assert.True(t, err == nil && status == 200, "the monitor: got %d and %v, want 200", status, err)
}

// TestTLS_SettingsThatBelongTogether name what is missing.
func TestTLS_SettingsThatBelongTogether(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	certify(t, folder, "one", nil)
	certify(t, folder, "two", nil)
	one, two := filepath.Join(folder, "one"), filepath.Join(folder, "two")
	for want, args := range map[string][]string{
		"needs --tls-key":     {"--tls-cert", one + ".pem"},
		"needs --tls-cert":    {"--tls-key", one + ".key"},
		"--tls-key " + two:    {"--tls-cert", one + ".pem", "--tls-key", two + ".key"},
		"has no certificate":  {"--tls-cert", one + ".pem", "--tls-key", one + ".key", "--tls-client-ca", one + ".key"},
		"no such file or dir": {"--tls-cert", one + ".missing", "--tls-key", one + ".key"},
	} {
		code, text := harness.Refused(t, harness.Options{Model: "api/do.py:Runner", Args: args})
		assert.Equal(t, "exit code of "+want, code, 2)
		assert.Contains(t, "what is said", text, want)
	}
}
