package transport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"pinion/runtime/memory"
	"pinion/tests/assert"
)

// ownTLS returns a configuration with a new self-signed certificate.
func ownTLS(t *testing.T) *tls.Config {
	t.Helper()
	key := assert.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	text := assert.Must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{text}, PrivateKey: key}}}
}

// TestSecured_ParksOnlyIdleConnections as without TLS; a handshake in progress is not broken by it.
func TestSecured_ParksOnlyIdleConnections(t *testing.T) {
	parksOnlyIdle(t, Options{ParkAbove: -1, SweepInterval: time.Millisecond, TLS: ownTLS(t)})
}

// TestSecured_RequestsOfOneRecordAreAnswered although memory is short, so that each connection is parked after its
// answer: TLS may have decrypted the next request, and no byte comes that would wake the connection.
func TestSecured_RequestsOfOneRecordAreAnswered(t *testing.T) {
	budget := memory.New(0)
	assert.TrueNow(t, budget.Take(memory.MinBudget*5/8, 0), "got no memory, want more than half of the budget")
	s := serve(t, Options{ParkAbove: -1, SweepInterval: time.Hour, TLS: ownTLS(t), Memory: budget})
	c := s.dial(t)
	long := "GET /" + strings.Repeat("x", 12<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n"
	for range 20 {
		c.send(long) // a record each, which together do not fit fasthttp's buffer
	}
	for range 20 {
		c.want(200)
	}
	assert.Eventually(t, "it is parked without a sweep", func() bool { return s.Stats().Parked == 1 })
	c.send(get)
	c.want(200)
}

// TestSecured_WatchReadsAheadWhatIsEncrypted and TLS decrypts it after the answer.
func TestSecured_WatchReadsAheadWhatIsEncrypted(t *testing.T) {
	s := serve(t, Options{TLS: ownTLS(t)})
	c := s.dial(t)
	c.send(hold)
	<-s.held
	s.conns.mu.Lock()
	var conn *Conn
	for conn = range s.conns.open {
	}
	s.conns.mu.Unlock()
	s.watcher.add(&conn.watch, noCancel{}, time.Now().Add(-time.Second))
	c.send(get + get)
	assert.Eventually(t, "it is read ahead", func() bool { return s.Stats().ReadAhead > 0 })
	assert.False(t, s.Unwatch(&conn.watch), "the client has disconnected")
	close(s.release)
	for range 3 {
		c.want(200)
	}
}

type noCancel struct{}

func (noCancel) Cancel() {}

// TestSecured_ClientsThatSpeakNoTLS are told so, and one that offers only another protocol gets no connection.
func TestSecured_ClientsThatSpeakNoTLS(t *testing.T) {
	config := ownTLS(t)
	config.NextProtos = []string{"http/1.1"}
	s := serve(t, Options{TLS: config})
	nc, err := net.Dial("tcp", s.addr)
	assert.NoError(t, err)
	defer nc.Close()
	_, err = io.WriteString(nc, get)
	assert.NoError(t, err)
	answer, _ := io.ReadAll(nc) // the rest of the request may reset the connection
	assert.Contains(t, "the answer", string(answer), "https://")
	other := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}} //nolint:gosec // see ownTLS
	_, err = tls.Dial("tcp", s.addr, other)
	assert.True(t, err != nil && strings.Contains(err.Error(), "no application protocol"),
		"got %v, want a refused protocol", err)
}
