package api

import (
	"bufio"
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
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/tests/assert"
	"pinion/tests/harness"
)

// behind is a model that streams, waits and prints its cancel.
const behind = `
import time
from typing import Iterator
from cog import streaming

@streaming
def run(how: str = "") -> Iterator[str]:
    yield "first"
    if how == "gate":
        with open("gate") as gate:
            gate.read()
    if how == "sleep":
        try:
            time.sleep(3600)
        except BaseException:
            print("canceled behind the proxy")
            raise
    yield "last"
`

// makeCertificate writes a certificate of that name and its key, and returns who trusts it.
func makeCertificate(t *testing.T, name, certFile, keyFile string) *x509.CertPool {
	t.Helper()
	key := assert.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	unsigned := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert := assert.Must(x509.CreateCertificate(rand.Reader, unsigned, unsigned, &key.PublicKey, key))(t)
	secret := assert.Must(x509.MarshalPKCS8PrivateKey(key))(t)
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: cert},
		keyFile:  {Type: "PRIVATE KEY", Bytes: secret},
	} {
		harness.WriteFile(t, file, pem.EncodeToMemory(block))
	}
	parsed := assert.Must(x509.ParseCertificate(cert))(t)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return pool
}

// startNginx runs deploy/nginx/pinion.conf in front of a server, on a socket in place of port 443, and returns a client
// for it.
func startNginx(t *testing.T, server string) *http.Client {
	t.Helper()
	nginx := harness.Tool(t, "nginx/usr/sbin/nginx", "nginx")
	text := harness.ReadFile(t, "../deploy/nginx/pinion.conf")
	dir := harness.ShortTempDir(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	pool := makeCertificate(t, "models.example.com", in("cert"), in("key"))
	site := text
	for from, to := range map[string]string{
		"listen 443 ssl;": "listen unix:" + in("socket") + " ssl;", "/etc/ssl/models.example.com.pem": in("cert"),
		"/etc/ssl/models.example.com.key": in("key"), "http://127.0.0.1:5000;": server + ";",
	} {
		assert.TrueNow(t, strings.Contains(site, from), "the configuration has no %q, want it there", from)
		site = strings.Replace(site, from, to, 1)
	}
	config := "daemon off; master_process off; pid " + in("pid") +
		"; error_log stderr; events {}\nhttp { access_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		config += kind + "_temp_path " + in(kind) + ";\n"
	}
	harness.WriteFile(t, in("nginx.conf"), config+site+"}\n")
	harness.RunBeside(t, "nginx", exec.Command(nginx, "-e", "stderr", "-p", dir, "-c", in("nginx.conf")))
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", in("socket"))
	}
	assert.Eventually(t, "nginx listens", func() bool {
		c, err := dial(t.Context(), "", "")
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return &http.Client{Transport: &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: pool}}}
}

// TestProxy_BehindProxyWithTLS: what docs/how-to/security.md says of the configuration in deploy/nginx is so.
func TestProxy_BehindProxyWithTLS(t *testing.T) {
	t.Parallel()
	const token, origin = "the-token-of-the-proxy-test", "https://models.example.com"
	dir := harness.NewFolder(t, "run.py", behind)
	s := harness.Ready(t, harness.Options{
		Dir: dir, Model: "run.py:run", Args: []string{"--auth-token-file", harness.TokenFile(t, token), "--access-log=1000"},
	})
	client := startNginx(t, s.Address)
	ask := func(ctx context.Context, method, path, body string, headers ...string) *http.Response {
		t.Helper()
		request := assert.Must(http.NewRequestWithContext(ctx, method, origin+path, strings.NewReader(body)))(t)
		for i := 0; i+1 < len(headers); i += 2 {
			request.Header.Set(headers[i], headers[i+1])
		}
		response, err := client.Do(request)
		assert.NoError(t, err, method, path)
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	bearer := "Bearer " + token
	for _, c := range []struct {
		method, path string
		headers      []string
		code         int
	}{
		{"GET", "/readyz", nil, 200},
		{"GET", "/docs", nil, 200},
		{"POST", "/predictions", nil, 401},
		{"POST", "/predictions", []string{"Authorization", bearer}, 200},
		{"POST", "/shutdown", []string{"Authorization", bearer}, 403},
		{"POST", "/predictions", []string{"Authorization", bearer, "Origin", origin, "Sec-Fetch-Site", "same-origin"}, 200},
		// a browser without Sec-Fetch-Site
		{"POST", "/predictions", []string{"Authorization", bearer, "Origin", origin}, 200},
		{"POST", "/predictions", []string{
			"Authorization", bearer, "Origin", "https://evil.example", "Sec-Fetch-Site",
			"cross-site",
		}, 403},
		{"POST", "/predictions", []string{"Authorization", bearer, "Origin", "https://evil.example"}, 403},
	} {
		response := ask(t.Context(), c.method, c.path, "", c.headers...)
		assert.Equal(t, fmt.Sprintf("%s %s %q", c.method, c.path, c.headers), response.StatusCode, c.code)
		id := response.Header.Get("X-Request-Id")
		assert.Eventually(t, "the log has the request's id "+id, func() bool {
			return id != "" && strings.Contains(s.Log.String(), fmt.Sprintf(`"request_id":%q`, id))
		})
	}

	open := harness.MakeFIFO(t, dir, "gate")
	stream := ask(t.Context(), "POST", "/predictions", `{"input":{"how":"gate"}}`, "Authorization", bearer, "Accept",
		"text/event-stream",
		"Content-Type", "application/json")
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), `"first"`) { // it passes the proxy while the model waits
	}
	open()
	_, err := io.ReadAll(stream.Body)
	assert.NoError(t, err)
	assert.NoError(t, lines.Err())

	ctx, leave := context.WithCancel(t.Context())
	ask(ctx, "POST", "/predictions", `{"input":{"how":"sleep"}}`, "Authorization", bearer, "Accept", "text/event-stream",
		"Content-Type", "application/json")
	leave()
	s.WaitLog("canceled behind the proxy")
}

// TestProxy_OfDocuments: docs/how-to/production.md shows the configuration in deploy/nginx, without its comments.
func TestProxy_OfDocuments(t *testing.T) {
	t.Parallel()
	lines := func(path string) (found []string) {
		for line := range strings.Lines(harness.ReadFile(t, path)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				found = append(found, line)
			}
		}
		return found
	}
	config, page := strings.Join(lines("../deploy/nginx/pinion.conf"), "\n"),
		strings.Join(lines("../docs/how-to/production.md"), "\n")
	assert.Contains(t, "the page", page, config)
}
