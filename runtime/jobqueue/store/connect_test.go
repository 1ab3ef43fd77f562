package store_test

import (
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"pinion/runtime/jobqueue/store/state"
	"pinion/tests/assert"
)

// TestConnect_Certificates: a NATS whose certificate is trusted is connected to; another one is refused at once, with a
// reason.
func TestConnect_Certificates(t *testing.T) {
	t.Parallel()
	own := httptest.NewTLSServer(nil) // for its certificate, of 127.0.0.1
	own.Close()
	s := assert.Must(server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, TLSTimeout: 10, TLS: true,
		TLSConfig: &tls.Config{Certificates: own.TLS.Certificates},
	}))(t)
	s.Start()
	t.Cleanup(s.Shutdown)
	assert.TrueNow(t, s.ReadyForConnections(time.Minute),
		"NATS does not listen")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	assert.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate().Raw}),
		0o600))
	_, port, err := net.SplitHostPort(s.Addr().String())
	assert.NoError(t, err)
	c := state.Connection{URLs: []string{"tls://127.0.0.1:" + port}, CA: ca, OnChange: func(error) {}}
	nc, err := c.Connect()
	assert.NoError(t, err, "with its certificate")
	nc.Close()
	c.CA = ""
	if nc, err := c.Connect(); err == nil {
		nc.Close()
		t.Error("an untrusted certificate is taken")
	} else if !strings.Contains(err.Error(), "certificate") || !strings.Contains(err.Error(), port) {
		t.Errorf(`got %v, want it with "certificate" and with %q`, err, port)
	}
	c.CA, c.URLs = ca, []string{"tls://localhost:" + port}
	if nc, err := c.Connect(); err == nil {
		nc.Close()
		t.Error("a certificate of another host is taken")
	}
}
