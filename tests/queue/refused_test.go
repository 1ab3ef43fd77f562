package queue

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// TestRefused_CertificatesOfQueueThatAreRefused: the error names the setting and the file.
func TestRefused_CertificatesOfQueueThatAreRefused(t *testing.T) {
	t.Parallel()
	own, other := newAuthority(t, "own"), newAuthority(t, "other")
	cert, key := own.issue("nats")
	client, clientKey := own.issue("client")
	strange, strangeKey := other.issue("client")
	at := harness.StartNATSWithTLS(t, own.file, cert, key)
	url := strings.Replace(at.URL, "nats://", "tls://", 1)
	s := harness.StartMember(t, url, harness.Options{
		Args: []string{"--nats-tls-ca", own.file, "--nats-tls-cert", client, "--nats-tls-key", clientKey},
	})
	harness.Enqueue(t, s, "p1", harness.Input{})
	harness.WaitStatus(t, s, "p1", "succeeded")
	for want, args := range map[string][]string{
		"with --nats-tls-ca " + other.file: {
			"--nats-tls-ca", other.file, "--nats-tls-cert", client, "--nats-tls-key",
			clientKey,
		},
		"without --nats-tls-ca": {"--nats-tls-cert", client, "--nats-tls-key", clientKey},
		"with --nats-tls-cert " + strange: {
			"--nats-tls-ca", own.file, "--nats-tls-cert", strange, "--nats-tls-key",
			strangeKey,
		},
		"without --nats-tls-cert": {"--nats-tls-ca", own.file},
		"--nats-tls-key " + strangeKey +
			": ": {"--nats-tls-ca", own.file, "--nats-tls-cert", client, "--nats-tls-key", strangeKey},
	} {
		harness.WantRefused(t, harness.Options{
			Model: "fleet.py", Dir: s.Dir, Args: append([]string{"--nats", url, "--model", "m"}, args...),
		}, harness.AnyCode, want)
	}
}

// TestRefused_CredentialsOfQueueThatAreRefused: a file with something else is never sent to NATS, or shown.
func TestRefused_CredentialsOfQueueThatAreRefused(t *testing.T) {
	t.Parallel()
	at := harness.StartNATSFor(t, "u", "right")
	good, expired := credentials(t, time.Hour), credentials(t, -time.Hour)
	for want, text := range map[string]string{
		"has no seed of a user's key": "top-secret, and nothing of NATS",
		"has no valid token of a user": "-----BEGIN NATS USER JWT-----\ntop-secret.x.y\n------END NATS USER JWT------\n" +
			good[strings.Index(good, "\n-----BEGIN USER NKEY"):],
		"has expired at 20":       expired,
		"Authorization Violation": good,
	} {
		file := filepath.Join(t.TempDir(), "user.creds")
		harness.WriteFile(t, file, text)
		code, says := harness.Refused(t,
			harness.Options{Model: "fleet.py", Args: []string{"--nats", at.URL, "--model", "m", "--nats-creds", file}})
		assert.True(t, code != 0 && strings.Contains(says, want) && strings.Contains(says, "--nats-creds") &&
			strings.Contains(says, file) && !strings.Contains(says, "top-secret"), "exit code %d, %s; want %s", code, says, want)
	}
}

// credentials are those of a user of NATS, of an account that no server knows.
func credentials(t *testing.T, life time.Duration) string {
	t.Helper()
	account := assert.Must(nkeys.CreateAccount())(t)
	user := assert.Must(nkeys.CreateUser())(t)
	public := assert.Must(user.PublicKey())(t)
	claims := jwt.NewUserClaims(public)
	claims.Expires = time.Now().Add(life).Unix()
	token := assert.Must(claims.Encode(account))(t)
	seed := assert.Must(user.Seed())(t)
	text := assert.Must(jwt.FormatUserConfig(token, seed))(t)
	return string(text)
}

// authority signs certificates.
type authority struct {
	t    *testing.T
	file string // its own certificate
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t}
	a.file, _ = a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// issue makes a certificate of 127.0.0.1, and returns its file and that of its key.
func (a *authority) issue(name string) (cert, key string) {
	a.t.Helper()
	return a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		KeyUsage:    x509.KeyUsageDigitalSignature,
	})
}

// sign signs a certificate; the first is the authority's own.
func (a *authority) sign(c *x509.Certificate) (cert, key string) {
	a.t.Helper()
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour),
		time.Now().Add(time.Hour)
	private := assert.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(a.t)
	if a.cert == nil {
		a.cert, a.key = c, private
	}
	signed := assert.Must(x509.CreateCertificate(rand.Reader, c, a.cert, private.Public(), a.key))(a.t)
	bytes := assert.Must(x509.MarshalPKCS8PrivateKey(private))(a.t)
	dir := a.t.TempDir()
	write := func(name, kind string, data []byte) string {
		file := filepath.Join(dir, name)
		assert.NoError(a.t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
		return file
	}
	return write("cert.pem", "CERTIFICATE", signed), write("key.pem", "PRIVATE KEY", bytes)
}
